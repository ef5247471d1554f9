"""Invitations to a workspace, and changes of roles."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from service_core.access.email_addresses import normalize_or_reject_email
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
    """A new invitation and its token, which is only in the e-mail and not stored."""

    invitation: Invitation
    token: str = field(repr=False)


async def save_and_email_invitation(
    invitations: Invitations,
    email_sender: EmailSender,
    workspace: Workspace,
    inviter: Member,
    *,
    email: str,
    role: Role,
    web_url: str,
    now: datetime,
) -> CreatedInvitation:
    """Invites an e-mail address to a workspace. The link is valid for 7 days.

    An admin can invite members, viewers and admins; only an owner can invite an owner.

    Raises:
        BadRequest: ``invalid_email``.
        Forbidden: ``role_required``, ``owner_required``.
        EmailSenderUnavailable: the e-mail was not accepted. The invitation is stored and can be repeated.
    """
    require_permission(inviter.role, Permission.INVITE)
    if role is Role.OWNER:
        require_permission(inviter.role, Permission.OWN)
    token = new_token()
    invitation = Invitation(
        id=new_id(),
        workspace_id=workspace.id,
        email=normalize_or_reject_email(email),
        role=role,
        invited_by=inviter.account_id,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    await invitations.replace_open_invitation(invitation, sha256_hex(token))
    link = f"{web_url}/{INVITATION_PAGE_PATH}?token={token}"
    text = f"You are invited to the workspace {workspace.name} as {role.value}.\n\nAccept within 7 days:\n{link}\n"
    await email_sender.send(EmailMessage(invitation.email, f"Invitation to {workspace.name}", text))
    return CreatedInvitation(invitation, token)


async def accept_invitation_for_own_email(
    invitations: Invitations, account: Account, invitation_token: str, now: datetime
) -> Member:
    """Adds the account to the workspace of an invitation.

    Raises:
        NotFound: the link is unknown, used or expired.
        Forbidden: the invitation is for another address.
    """
    invitation = await invitations.get_invitation(sha256_hex(invitation_token))
    if invitation is None or invitation.accepted_at is not None or now >= invitation.expires_at:
        raise NotFound
    if invitation.email != account.email:
        raise Forbidden("This invitation is for another address", "role_required")
    member = Member(invitation.workspace_id, account.id, invitation.role, now)
    if not await invitations.accept_open_invitation(invitation.id, member):
        raise NotFound
    return member


async def change_role_unless_last_owner(
    members: Members, acting_owner: Member, account_id: UUID, new_role: Role, now: datetime
) -> Member:
    """Changes the role of a member of the owner's workspace. OAuth grants and granted keys are narrowed with it at once.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the workspace would have no owner.
    """
    require_permission(acting_owner.role, Permission.OWN)
    current = await members.get_member(acting_owner.workspace_id, account_id)
    if current is None:
        raise NotFound
    changed = Member(acting_owner.workspace_id, account_id, new_role, current.created_at)
    if not await members.save_member_unless_no_owner_left(changed, now):
        raise _last_owner_error()
    return changed


async def leave_or_remove_unless_last_owner(
    members: Members,
    acting_member: Member,
    account_id: UUID,
    now: datetime,
    *,
    owner_takes_over_keys: bool = False,
) -> None:
    """Removes a member. Every member can leave; an owner can remove any member.

    Args:
        members: the store of memberships.
        acting_member: who leaves, or the owner who removes somebody.
        account_id: the member to remove.
        now: current time.
        owner_takes_over_keys: the acting owner takes over the keys that the member granted; otherwise they are revoked.

    Raises:
        Forbidden: ``owner_required``.
        NotFound: no such member.
        Conflict: the workspace would have no owner.
    """
    if account_id != acting_member.account_id:
        require_permission(acting_member.role, Permission.OWN)
    if await members.get_member(acting_member.workspace_id, account_id) is None:
        raise NotFound
    is_removal = account_id != acting_member.account_id
    removed = await members.remove_member_unless_last_owner(
        acting_member.workspace_id,
        account_id,
        now,
        keys_pass_to=acting_member.account_id if owner_takes_over_keys and is_removal else None,
    )
    if not removed:
        raise _last_owner_error()


def _last_owner_error() -> Conflict:
    return Conflict(
        "A workspace keeps at least one owner", "resource_changed", hint="Make another member owner first."
    )
