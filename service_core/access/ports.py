"""Ports of the access package: the store of workspaces and credentials, and the rate limiter."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from service_core.access.models import AuthContext, Credential, Workspace


class CredentialStore(Protocol):
    """Stores workspaces and credentials durably. Digests are SHA-256 in hexadecimal (`kernel.ids.sha256_hex`)."""

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        """Returns the active credential with this digest and its workspace; None if it is unknown or revoked."""

    def change_version(self) -> int | None:
        """Returns a number that changes whenever a credential or workspace changes, or a person was erased, in any process.

        A synchronous function of a few microseconds, called on each cached look-up. None if the store has not been able to
        determine the version for 5 seconds; caches may then be stale.
        """

    async def create_workspace(self, workspace: Workspace) -> None:
        """Adds a workspace; it is visible at once."""

    async def list_workspaces(self) -> list[Workspace]:
        """Returns all workspaces, oldest first."""

    async def save_credential(self, credential: Credential, new_digest: str | None = None) -> None:
        """Adds a credential with its digest, or replaces the one with its id.

        Without ``digest`` the stored one stays. Revoking sets ``revoked_at``; a revoked credential stays revoked whatever is
        saved later.
        """

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        """Returns all credentials of a workspace, revoked ones included, oldest first."""


RowPage = tuple[str, Sequence[Mapping[str, Any]]]
"""The name of a table and some of its rows as plain values: texts, numbers, timestamps, ids, bytes and JSON values."""


class TransferableStore(Protocol):
    """A workspace store whose content can be copied to another store of the same schema version."""

    def export_rows(self) -> AsyncGenerator[RowPage, None]:
        """Yields all rows in pages; referenced tables come first. Nothing may be written meanwhile.

        Raises:
            StoreUnavailable: it cannot be read.
        """

    async def import_rows_into_empty_store(self, pages: AsyncIterator[RowPage]) -> None:
        """Saves all pages, or nothing.

        Raises:
            StartupError: this store is not empty.
            StoreUnavailable: it cannot be written.
        """


class WorkspaceSettings(Protocol):
    """Stores changes of a workspace's own settings, and its deletion."""

    async def replace_workspace_keeping_triggers(self, workspace: Workspace) -> None:
        """Replaces the workspace with this id. Cached copies in all processes become invalid at once."""

    async def delete_workspace(self, workspace_id: UUID) -> bool:
        """Deletes a workspace with its keys, members and all records that belong to it; False if there is none.

        Accounts of its members stay. Cached copies in all processes become invalid at once.
        """


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """The decision about one request: whether it is allowed, the limit in force and the remaining requests."""

    allowed: bool
    limit: int
    remaining: int
    degraded: bool = False


class RateLimiterUnavailable(Exception):
    """The limit store cannot be reached. Reads use the standby limit, writes are refused."""


class RateLimiter(Protocol):
    """Counts requests in fixed windows."""

    async def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Counts one request for ``key`` in the current window.

        Raises:
            RateLimiterUnavailable: the store cannot be reached.
        """
