"""Adds members: from the command line, by invitation, and by password reset."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from service_core.access.email_addresses import normalize_or_reject_email
from service_core.access.email_sender import EmailSender
from service_core.access.members.emails import save_and_send_password_link
from service_core.access.members.invitations import accept_invitation_for_own_email
from service_core.access.members.models import (
    PASSWORD_LINK_LIFETIME,
    Account,
    Invitation,
    Member,
    PasswordLink,
    Purpose,
)
from service_core.access.members.ports import Accounts, Invitations, Members
from service_core.access.members.sign_in import NewSession, SignIn
from service_core.access.models import Workspace
from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.access.roles import Role
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_id, new_token, sha256_hex

RESET_EMAILS_PER_ADDRESS: Final = 3
RESET_EMAIL_WINDOW_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class AddedMember:
    """A member added by the operator.

    Attributes:
        token: token of a password link that is valid for 24 hours; None if the account has a password.
    """

    account: Account
    member: Member
    token: str | None = field(repr=False)


async def add_member_with_password_link_if_needed(
    accounts: Accounts, members: Members, workspace: Workspace, *, email: str, role: Role, now: datetime
) -> AddedMember:
    """Gives an e-mail address a role in a workspace without an invitation. The first owner is added this way.

    Creates the account if there is none, and a password link if it has no password.

    Raises:
        BadRequest: ``invalid_email``.
        Conflict: the workspace would have no owner.
    """
    normalized_email = normalize_or_reject_email(email)
    account = await accounts.find_account_by_email(normalized_email)
    if account is None:
        account = Account(new_id(), normalized_email, None, now)
        await accounts.save_account_unless_email_taken(account)
    member = Member(workspace.id, account.id, role, now)
    if not await members.save_member_unless_no_owner_left(member, now):
        raise Conflict("A workspace keeps at least one owner", "resource_changed")
    token = None
    if account.password is None:
        token = new_token()
        await accounts.save_password_link(
            PasswordLink(account.id, Purpose.PASSWORD, now + PASSWORD_LINK_LIFETIME), sha256_hex(token)
        )
    return AddedMember(account, member, token)


async def send_limited_password_reset_if_known(
    accounts: Accounts,
    email_sender: EmailSender,
    limiter: RateLimiter,
    email: str,
    *,
    web_url: str,
    now: datetime,
) -> None:
    """Sends a password link if the address has an account, at most 3 in an hour.

    Sends nothing while the limit store is unavailable. The caller cannot tell whether there is an account.

    Raises:
        EmailSenderUnavailable: the e-mail was not sent.
    """
    normalized_email = email.strip().lower()
    try:
        result = await limiter.consume(
            f"password-mail:{sha256_hex(normalized_email)}",
            RESET_EMAILS_PER_ADDRESS,
            RESET_EMAIL_WINDOW_SECONDS,
        )
    except RateLimiterUnavailable:
        return
    account = await accounts.find_account_by_email(normalized_email)
    if result.allowed and account is not None:
        reason = (
            "Somebody requested a password reset for your account. If it was not you, ignore this e-mail."
        )
        await save_and_send_password_link(
            accounts, email_sender, account, web_url=web_url, now=now, first_sentence=reason
        )


@dataclass(frozen=True, slots=True)
class InvitationView:
    """An invitation as its page shows it.

    Attributes:
        has_password: the address has an account with a password, so the person signs in to accept.
    """

    invitation: Invitation
    workspace: Workspace
    has_password: bool


class InvitationAcceptance:
    """Shows and accepts invitations.

    Args:
        accounts: the store of accounts.
        invitations: the store of invitations.
        workspaces: finds the workspace of an invitation.
        sign_in: opens the session of a new member.
        clock: current time.
    """

    def __init__(
        self,
        accounts: Accounts,
        invitations: Invitations,
        workspaces: WorkspaceCache,
        sign_in: SignIn,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._invitations = invitations
        self._workspaces = workspaces
        self._sign_in = sign_in
        self._clock = clock

    async def view_open_invitation(self, invitation_token: str) -> InvitationView:
        """Returns the invitation of a link.

        Raises:
            NotFound: the link is unknown, used or expired.
        """
        invitation = (
            await self._invitations.get_invitation(sha256_hex(invitation_token))
            if ONE_TIME_TOKEN_PATTERN.fullmatch(invitation_token)
            else None
        )
        if invitation is None or invitation.accepted_at or self._clock() >= invitation.expires_at:
            raise NotFound
        workspace = await self._workspaces.find_by_id(invitation.workspace_id)
        if workspace is None:
            raise NotFound
        account = await self._accounts.find_account_by_email(invitation.email)
        return InvitationView(
            invitation, workspace, has_password=account is not None and account.password is not None
        )

    async def accept_as_signed_in(self, invitation_token: str, account: Account) -> InvitationView:
        """Accepts an invitation as a signed-in account.

        Raises:
            NotFound: the link is unknown, used or expired.
            Forbidden: the invitation is for another address.
        """
        view = await self.view_open_invitation(invitation_token)
        await accept_invitation_for_own_email(self._invitations, account, invitation_token, self._clock())
        return view

    async def accept_with_new_password(
        self, invitation_token: str, *, name: str | None, password: str
    ) -> NewSession:
        """Accepts an invitation as a person without a password and opens a session. The link proves the address.

        Raises:
            NotFound: the link is unknown, used or expired.
            BadRequest: the password is too short or too long; the link stays valid.
            Conflict: the address has a password, so the person must sign in instead.
        """
        view = await self.view_open_invitation(invitation_token)
        if view.has_password:
            raise Conflict("This address has an account: sign in to accept", "resource_changed")
        now = self._clock()
        account = await self._accounts.find_account_by_email(view.invitation.email)
        account = account or Account(new_id(), view.invitation.email, None, now)
        await self._accounts.save_account_unless_email_taken(replace(account, name=name or account.name))
        link_token = new_token()
        await self._accounts.save_password_link(
            PasswordLink(account.id, Purpose.PASSWORD, now + PASSWORD_LINK_LIFETIME), sha256_hex(link_token)
        )
        session = await self._sign_in.set_password_and_replace_sessions(link_token, password)
        await accept_invitation_for_own_email(self._invitations, session.account, invitation_token, now)
        return session
