"""Inviting people and changing what they may do in a workspace."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from service_core.access.addresses import email_of
from service_core.access.mail import Mail, Message
from service_core.access.members.letters import INVITATION_PAGE
from service_core.access.members.model import INVITATION_LIFETIME, Account, Invitation, Member
from service_core.access.members.ports import Invitations, Members
from service_core.access.model import Workspace
from service_core.access.roles import Ability, Role, require_ability
from service_core.kernel.errors import Conflict, Forbidden, NotFound
from service_core.kernel.ids import digest, new_id, new_token


@dataclass(frozen=True, slots=True)
class Invited:
    """A new invitation and its token, which is in the mail and kept nowhere."""

    invitation: Invitation
    token: str = field(repr=False)


async def invite(
    invitations: Invitations,
    mail: Mail,
    workspace: Workspace,
    by: Member,
    *,
    email: str,
    role: Role,
    web_url: str,
    now: datetime,
) -> Invited:
    """Offer a role to an address; the mailed link works for 7 days.

    An admin invites members, viewers and other admins; only an owner makes an owner.

    Raises:
        BadRequest: ``invalid_email``.
        Forbidden: ``role_required``, ``owner_required``.
        MailDown: the mail was not taken; the invitation stands in the list and can be repeated.
    """
    require_ability(by.role, Ability.INVITE)
    if role is Role.OWNER:
        require_ability(by.role, Ability.OWN)
    token = new_token()
    invitation = Invitation(
        id=new_id(),
        workspace_id=workspace.id,
        email=email_of(email),
        role=role,
        invited_by=by.account_id,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    await invitations.save_invitation(invitation, digest(token))
    link = f"{web_url}/{INVITATION_PAGE}?token={token}"
    text = f"You are invited to the workspace {workspace.name} as {role.value}.\n\nAccept within 7 days:\n{link}\n"
    await mail.send(Message(invitation.email, f"Invitation to {workspace.name}", text))
    return Invited(invitation, token)


async def accept_invitation(invitations: Invitations, account: Account, token: str, now: datetime) -> Member:
    """Join a workspace by a mailed link; the account has to be of the invited address.

    Raises:
        NotFound: the link is unknown, used or expired.
        Forbidden: the invitation is for another address.
    """
    invitation = await invitations.invitation(digest(token))
    if invitation is None or invitation.accepted_at is not None or now >= invitation.expires_at:
        raise NotFound
    if invitation.email != account.email:
        raise Forbidden("This invitation is for another address", "role_required")
    member = Member(invitation.workspace_id, account.id, invitation.role, now)
    if not await invitations.accept(invitation.id, member):
        raise NotFound
    return member


async def change_role(members: Members, by: Member, account_id: UUID, role: Role) -> Member:
    """Give a member of the owner's workspace another role; grants over OAuth narrow with it at once.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the last owner would be gone.
    """
    require_ability(by.role, Ability.OWN)
    present = await members.role(by.workspace_id, account_id)
    if present is None:
        raise NotFound
    changed = Member(by.workspace_id, account_id, role, present.created_at)
    if not await members.save_member(changed):
        raise _ownerless()
    return changed


async def remove_member(members: Members, by: Member, account_id: UUID) -> None:
    """End a membership; everybody may leave, an owner may remove anybody.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the last owner would be gone.
    """
    if account_id != by.account_id:
        require_ability(by.role, Ability.OWN)
    if await members.role(by.workspace_id, account_id) is None:
        raise NotFound
    if not await members.remove_member(by.workspace_id, account_id):
        raise _ownerless()


def _ownerless() -> Conflict:
    return Conflict(
        "A workspace keeps at least one owner", "resource_changed", hint="Make another member owner first."
    )
