"""Inviting people and changing what they may do in a workspace."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from service_core.access.email_addresses import normalize_email
from service_core.access.email_sender import EmailMessage, EmailSender
from service_core.access.members.emails import INVITATION_PAGE_PATH
from service_core.access.members.models import INVITATION_LIFETIME, Account, Invitation, Member
from service_core.access.members.ports import Invitations, Members
from service_core.access.models import Workspace
from service_core.access.roles import Permission, Role, require_permission
from service_core.kernel.errors import Conflict, Forbidden, NotFound
from service_core.kernel.ids import new_id, new_token, sha256_hex


@dataclass(frozen=True, slots=True)
class CreatedInvitation:
    """A new invitation and its token, which is in the mail and kept nowhere."""

    invitation: Invitation
    token: str = field(repr=False)


async def invite_member(
    invitations: Invitations,
    mail: EmailSender,
    workspace: Workspace,
    inviter: Member,
    *,
    email: str,
    role: Role,
    web_url: str,
    now: datetime,
) -> CreatedInvitation:
    """Offer a role to an address; the mailed link works for 7 days.

    An admin invites members, viewers and other admins; only an owner makes an owner.

    Raises:
        BadRequest: ``invalid_email``.
        Forbidden: ``role_required``, ``owner_required``.
        EmailSenderUnavailable: the mail was not taken; the invitation stands in the list and can be repeated.
    """
    require_permission(inviter.role, Permission.INVITE)
    if role is Role.OWNER:
        require_permission(inviter.role, Permission.OWN)
    token = new_token()
    invitation = Invitation(
        id=new_id(),
        workspace_id=workspace.id,
        email=normalize_email(email),
        role=role,
        invited_by=inviter.account_id,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    await invitations.save_invitation(invitation, sha256_hex(token))
    link = f"{web_url}/{INVITATION_PAGE_PATH}?token={token}"
    text = f"You are invited to the workspace {workspace.name} as {role.value}.\n\nAccept within 7 days:\n{link}\n"
    await mail.send(EmailMessage(invitation.email, f"Invitation to {workspace.name}", text))
    return CreatedInvitation(invitation, token)


async def accept_invitation(invitations: Invitations, account: Account, token: str, now: datetime) -> Member:
    """Join a workspace by a mailed link; the account has to be of the invited address.

    Raises:
        NotFound: the link is unknown, used or expired.
        Forbidden: the invitation is for another address.
    """
    invitation = await invitations.get_invitation(sha256_hex(token))
    if invitation is None or invitation.accepted_at is not None or now >= invitation.expires_at:
        raise NotFound
    if invitation.email != account.email:
        raise Forbidden("This invitation is for another address", "role_required")
    member = Member(invitation.workspace_id, account.id, invitation.role, now)
    if not await invitations.accept_invitation(invitation.id, member):
        raise NotFound
    return member


async def change_role(members: Members, acting_member: Member, account_id: UUID, role: Role) -> Member:
    """Give a member of the owner's workspace another role; grants over OAuth narrow with it at once.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the last owner would be gone.
    """
    require_permission(acting_member.role, Permission.OWN)
    present = await members.get_member(acting_member.workspace_id, account_id)
    if present is None:
        raise NotFound
    changed = Member(acting_member.workspace_id, account_id, role, present.created_at)
    if not await members.save_member(changed):
        raise _last_owner_error()
    return changed


async def remove_member(members: Members, acting_member: Member, account_id: UUID) -> None:
    """End a membership; everybody may leave, an owner may remove anybody.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the last owner would be gone.
    """
    if account_id != acting_member.account_id:
        require_permission(acting_member.role, Permission.OWN)
    if await members.get_member(acting_member.workspace_id, account_id) is None:
        raise NotFound
    if not await members.remove_member(acting_member.workspace_id, account_id):
        raise _last_owner_error()


def _last_owner_error() -> Conflict:
    return Conflict(
        "A workspace keeps at least one owner", "resource_changed", hint="Make another member owner first."
    )
