"""People come in: by the command line, by an invitation, or back in by a mail after a lost password."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from service_core.access.addresses import email_of
from service_core.access.mail import Mail
from service_core.access.members.invite import accept_invitation
from service_core.access.members.letters import send_password_link
from service_core.access.members.model import LINK_LIFETIME, Account, Invitation, Link, Member, Purpose
from service_core.access.members.ports import Accounts, Invitations, Members
from service_core.access.members.sign_in import SignedIn, SignIn
from service_core.access.model import Workspace
from service_core.access.ports import LimiterDown, RateLimiter
from service_core.access.roles import Role
from service_core.access.workspaces import Workspaces
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.ids import ONE_TIME_TOKEN, digest, new_id, new_token

MAILS_PER_ADDRESS: Final = 3
MAIL_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A member added by whoever runs the deployment.

    Attributes:
        token: of a link to choose a password, 24 hours; None for somebody who has one.
    """

    account: Account
    member: Member
    token: str | None = field(repr=False)


async def enrol(
    accounts: Accounts, members: Members, workspace: Workspace, *, email: str, role: Role, now: datetime
) -> Enrolled:
    """Give an address a role in a workspace, without an invitation; this is how the first owner comes.

    Raises:
        BadRequest: ``invalid_email``.
        Conflict: the last owner would be gone.
    """
    address = email_of(email)
    account = await accounts.account_of(address)
    if account is None:
        account = Account(new_id(), address, None, now)
        await accounts.save_account(account)
    member = Member(workspace.id, account.id, role, now)
    if not await members.save_member(member):
        raise Conflict("A workspace keeps at least one owner", "resource_changed")
    token = None
    if account.password is None:
        token = new_token()
        await accounts.save_link(Link(account.id, Purpose.PASSWORD, now + LINK_LIFETIME), digest(token))
    return Enrolled(account, member, token)


async def mail_new_link(
    accounts: Accounts, mail: Mail, limiter: RateLimiter, email: str, *, web_url: str, now: datetime
) -> None:
    """Mail a link to choose another password, if the address has an account; at most 3 an hour.

    Nothing tells the caller whether there is one.

    Raises:
        MailDown: it was not sent.
    """
    address = email.strip().lower()
    try:
        allowance = await limiter.spend(f"password-mail:{digest(address)}", MAILS_PER_ADDRESS, MAIL_SECONDS)
    except LimiterDown:
        return
    account = await accounts.account_of(address)
    if allowance.allowed and account is not None:
        reason = "Somebody asked for another password of your account. If it was not you, ignore this mail."
        await send_password_link(accounts, mail, account, web_url=web_url, now=now, reason=reason)


@dataclass(frozen=True, slots=True)
class Offer:
    """What stands behind an invitation link.

    Attributes:
        known: the address has an account with a password, so its owner signs in to accept.
    """

    invitation: Invitation
    workspace: Workspace
    known: bool


class Joining:
    """Shows and accepts invitations.

    Args:
        accounts: people.
        invitations: offers by the digest of their link.
        workspaces: finds the workspace of an offer.
        sign_in: opens the session of somebody new.
        clock: gives the present.
    """

    def __init__(
        self,
        accounts: Accounts,
        invitations: Invitations,
        workspaces: Workspaces,
        sign_in: SignIn,
        clock: Clock,
    ) -> None:
        self._accounts = accounts
        self._invitations = invitations
        self._workspaces = workspaces
        self._sign_in = sign_in
        self._clock = clock

    async def view(self, token: str) -> Offer:
        """What a link offers.

        Raises:
            NotFound: the link is unknown, used or expired.
        """
        invitation = (
            await self._invitations.invitation(digest(token)) if ONE_TIME_TOKEN.fullmatch(token) else None
        )
        if invitation is None or invitation.accepted_at or self._clock() >= invitation.expires_at:
            raise NotFound
        workspace = await self._workspaces.find(invitation.workspace_id)
        if workspace is None:
            raise NotFound
        account = await self._accounts.account_of(invitation.email)
        return Offer(invitation, workspace, known=account is not None and account.password is not None)

    async def accept(self, token: str, account: Account) -> Offer:
        """Join as somebody who is signed in.

        Raises:
            NotFound: the link is unknown, used or expired.
            Forbidden: the invitation is for another address.
        """
        offer = await self.view(token)
        await accept_invitation(self._invitations, account, token, self._clock())
        return offer

    async def enter(self, token: str, *, name: str | None, password: str) -> SignedIn:
        """Join as somebody without a password yet: the link proves the address.

        Raises:
            NotFound: the link is unknown, used or expired.
            BadRequest: the password is too short or too long; the link still works.
            Conflict: the address has a password, so its owner signs in instead.
        """
        offer = await self.view(token)
        if offer.known:
            raise Conflict("This address has an account: sign in to accept", "resource_changed")
        now = self._clock()
        account = await self._accounts.account_of(offer.invitation.email)
        account = account or Account(new_id(), offer.invitation.email, None, now)
        await self._accounts.save_account(replace(account, name=name or account.name))
        proof = new_token()
        await self._accounts.save_link(Link(account.id, Purpose.PASSWORD, now + LINK_LIFETIME), digest(proof))
        entered = await self._sign_in.choose_password(proof, password)
        await accept_invitation(self._invitations, entered.account, token, now)
        return entered
