"""Shared content and base class of the memory stores of `access`."""

from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from uuid import UUID

from service_core.access.key_requests.models import (
    KeyRequest,
)
from service_core.access.members.models import Account, Invitation, Member, PasswordLink, Session
from service_core.access.models import Credential, Workspace
from service_core.access.passkeys.models import Challenge, Passkey
from service_core.access.signup.models import Signup
from service_core.access.signup.ports import SignupDigests

_Value = TypeVar("_Value")


@dataclass
class IndexedByDigest(Generic[_Value]):
    """Values by id, and ids by digest."""

    values: dict[UUID, _Value] = field(default_factory=dict)
    digests: dict[str, UUID] = field(default_factory=dict)

    def find_by_digest(self, digest: str) -> _Value | None:
        """Returns the value with a digest; None when the digest or its value is unknown."""
        value_id = self.digests.get(digest)
        return None if value_id is None else self.values.get(value_id)


@dataclass
class AccessState:
    """The content of all stores of this module."""

    change_version: int = 1
    workspaces: dict[UUID, Workspace] = field(default_factory=dict)
    credentials: IndexedByDigest[Credential] = field(default_factory=IndexedByDigest)
    accounts: dict[UUID, Account] = field(default_factory=dict)
    password_links: dict[str, PasswordLink] = field(default_factory=dict)
    sessions: IndexedByDigest[Session] = field(default_factory=IndexedByDigest)
    members: dict[tuple[UUID, UUID], Member] = field(default_factory=dict)
    invitations: IndexedByDigest[Invitation] = field(default_factory=IndexedByDigest)
    passkeys: dict[UUID, Passkey] = field(default_factory=dict)
    challenges: dict[str, Challenge] = field(default_factory=dict)
    key_requests: IndexedByDigest[KeyRequest] = field(default_factory=IndexedByDigest)
    retries: dict[str, KeyRequest] = field(default_factory=dict)
    signups: dict[UUID, tuple[Signup, SignupDigests]] = field(default_factory=dict)

    def save_credential_keeping_revocation(self, credential: Credential, digest: str | None) -> None:
        """Saves a credential but keeps an earlier revocation time, and increments the change version.

        Without a digest the saved digest stays.
        """
        saved = self.credentials.values.get(credential.id)
        revoked_at = saved.revoked_at if saved and saved.revoked_at else credential.revoked_at
        self.credentials.values[credential.id] = replace(credential, revoked_at=revoked_at)
        if digest is not None:
            self.credentials.digests[digest] = credential.id
        self.change_version += 1

    def replace_workspace_keeping_triggers(self, workspace: Workspace) -> None:
        self.workspaces[workspace.id] = workspace
        self.change_version += 1

    def find_account_by_email(self, email: str) -> Account | None:
        return next((account for account in self.accounts.values() if account.email == email), None)


class MemoryAccessStore:
    """A store of `access` on the content that all of them share."""

    def __init__(self, state: AccessState) -> None:
        self._state = state
