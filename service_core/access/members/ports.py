"""What people need from outside: where they are kept, and how passwords are hashed."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.members.models import Account, Invitation, Member, PasswordLink, Purpose, Session
from service_core.access.models import Workspace


class Accounts(Protocol):
    """Accounts, one per address (`addresses.normalize_email`), and their one-time links by digest."""

    async def get_account(self, account_id: UUID) -> Account | None:
        """The account with this id."""

    async def find_account_by_email(self, email: str) -> Account | None:
        """The account of an address."""

    async def save_account(self, account: Account) -> bool:
        """Add an account or replace the one with its id; False when its address is another's."""

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        """Keep a one-time link."""

    async def consume_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        """Use a link up; None when it is unknown, used, expired or for something else."""


class Members(Protocol):
    """Who belongs to which workspace."""

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        """The membership of an account in a workspace."""

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        """Everybody in a workspace, oldest first."""

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        """The workspaces of an account, oldest first."""

    async def save_member(self, member: Member) -> bool:
        """Add a member or change a role; False, and no change, when no owner would be left."""

    async def remove_member(self, workspace_id: UUID, account_id: UUID) -> bool:
        """End a membership; False, and no change, when there is none or no owner would be left."""


class Sessions(Protocol):
    """Sessions of the web application by the digest of their secret."""

    async def save_session(self, session: Session, digest: str) -> None:
        """Keep a new session, and drop those of the same account that have expired."""

    async def get_session(self, digest: str) -> Session | None:
        """The session with this digest, expired or not."""

    async def end_session(self, digest: str) -> None:
        """End one session; ending twice changes nothing."""

    async def end_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        """End every session of an account, but the one with the digest ``spare``."""


class Invitations(Protocol):
    """Invitations by the digest of their token."""

    async def save_invitation(self, invitation: Invitation, digest: str) -> None:
        """Keep a new invitation; it replaces open ones of the same address and workspace."""

    async def get_invitation(self, digest: str) -> Invitation | None:
        """The invitation with this digest."""

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        """Invitations of a workspace that were not accepted, oldest first."""

    async def accept_invitation(self, invitation_id: UUID, member: Member) -> bool:
        """Accept an open invitation and add the member, in one step; False when it is not open.

        Somebody who is a member already keeps the role.
        """

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        """Drop an open invitation; False when there is none."""


class Passwords(Protocol):
    """A slow hash of passwords. Both calls may wait: few run at a time."""

    async def hash(self, password: str) -> str:
        """The hash of a password, its parameters and salt included."""

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Whether a password has this hash; None takes as long, and is False."""
