"""Ports for accounts: their stores and the hashing of passwords."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.access.members.models import Account, Invitation, Member, PasswordLink, Purpose, Session
from service_core.access.models import Workspace


class Accounts(Protocol):
    """Stores accounts, one per e-mail address (`normalize_email`), and their password links by digest."""

    async def get_account(self, account_id: UUID) -> Account | None:
        """Returns the account with this id."""

    async def find_account_by_email(self, email: str) -> Account | None:
        """Returns the account of an e-mail address."""

    async def save_account_unless_email_taken(self, account: Account) -> bool:
        """Adds an account or replaces the one with its id. Returns False if its address belongs to another account."""

    async def save_password_link(self, link: PasswordLink, digest: str) -> None:
        """Stores a password link."""

    async def consume_unexpired_password_link(
        self, digest: str, purpose: Purpose, now: datetime
    ) -> PasswordLink | None:
        """Marks a link as used and returns it; None if it is unknown, used or expired."""


class Members(Protocol):
    """Stores memberships."""

    async def get_member(self, workspace_id: UUID, account_id: UUID) -> Member | None:
        """Returns the membership of an account in a workspace."""

    async def list_members(self, workspace_id: UUID) -> list[Member]:
        """Returns the members of a workspace, oldest first."""

    async def list_memberships(self, account_id: UUID) -> list[tuple[Workspace, Member]]:
        """Returns the workspaces of an account with its memberships, oldest first."""

    async def save_member_unless_no_owner_left(self, member: Member, now: datetime) -> bool:
        """Adds a member or changes a role, and limits the keys the member granted to the role (`restrict_key_to_role_or_revoke`).

        Keys that the member approved, that nobody collected yet and whose scopes the role cannot grant, expire.

        Returns:
            False, without a change, if the workspace would have no owner.
        """

    async def remove_member_unless_last_owner(
        self, workspace_id: UUID, account_id: UUID, now: datetime, *, keys_pass_to: UUID | None = None
    ) -> bool:
        """Removes a member with their grants and keys in one transaction.

        Args:
            workspace_id: the workspace.
            account_id: the member.
            now: current time.
            keys_pass_to: account that takes over the keys the member granted; None revokes them. Keys that the member
                approved and nobody collected yet expire in both cases.

        Returns:
            False, without a change, if there is no such member or the workspace would have no owner.
        """


class Sessions(Protocol):
    """Stores sessions of the web application by the digest of their secret."""

    async def add_session_and_delete_expired(self, session: Session, digest: str) -> None:
        """Stores a new session and deletes expired ones of the same account."""

    async def get_session(self, digest: str) -> Session | None:
        """Returns the session with this digest, even if it is expired."""

    async def end_session(self, digest: str) -> None:
        """Ends one session. Ending it again changes nothing."""

    async def end_account_sessions(self, account_id: UUID, except_digest: str | None = None) -> None:
        """Ends all sessions of an account except the one with the digest ``except_digest``."""


class Invitations(Protocol):
    """Stores invitations by the digest of their token."""

    async def replace_open_invitation(self, invitation: Invitation, digest: str) -> None:
        """Stores a new invitation; it replaces open ones of the same address and workspace."""

    async def get_invitation(self, digest: str) -> Invitation | None:
        """Returns the invitation with this digest."""

    async def list_open_invitations(self, workspace_id: UUID) -> list[Invitation]:
        """Returns the invitations of a workspace that were not accepted, oldest first."""

    async def accept_open_invitation(self, invitation_id: UUID, member: Member) -> bool:
        """Accepts an open invitation and adds the member in one transaction; False if it is not open.

        An existing member keeps the role.
        """

    async def withdraw_invitation(self, workspace_id: UUID, invitation_id: UUID) -> bool:
        """Deletes an open invitation; False if there is none."""


class Passwords(Protocol):
    """A slow password hash. Calls may wait, because few run at a time."""

    async def hash(self, password: str) -> str:
        """Returns the hash of a password with its parameters and salt."""

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Returns whether a password has this hash. None takes the same time and returns False."""
