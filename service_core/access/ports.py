"""What access needs from outside: the directory of workspaces and keys, and counters for budgets."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from service_core.access.models import AuthContext, Credential, Workspace


class CredentialStore(Protocol):
    """Workspaces and credentials, kept durably. Digests are SHA-256 in hex (`kernel.ids.digest`)."""

    async def find_auth_context(self, digest: str) -> AuthContext | None:
        """The live credential with this digest and its workspace; None when unknown or revoked."""

    def change_version(self) -> int | None:
        """A number that changes whenever a credential or workspace changes, in any process.

        A plain function of a few microseconds: it is asked on every cached look-up, thousands of
        times a second, between two awaits. None from a directory that has not been able to find out
        for 5 seconds: what is remembered may be old.
        """

    async def create_workspace(self, workspace: Workspace) -> None:
        """Add a workspace; it is visible at once."""

    async def list_workspaces(self) -> list[Workspace]:
        """Every workspace, oldest first."""

    async def save_credential(self, credential: Credential, digest: str | None = None) -> None:
        """Add a credential with its digest, or replace the one with its id.

        Without ``digest`` the stored one stays. Revoking sets ``revoked_at``, and a revoked
        credential stays revoked whatever is saved later.
        """

    async def list_keys(self, workspace_id: UUID) -> list[Credential]:
        """Every credential of a workspace, revoked ones included, oldest first."""


RowPage = tuple[str, Sequence[Mapping[str, Any]]]
"""Some records of one kind, as plain values by name: texts, numbers, instants, ids, bytes, and what JSON has."""


@runtime_checkable
class TransferableStore(Protocol):
    """A workspace store whose content can move into another one of the same version."""

    def export_rows(self) -> AsyncGenerator[RowPage, None]:
        """All it keeps, in pages; kinds that others refer to come first. Nobody changes anything meanwhile.

        Raises:
            StoreUnavailable: it cannot be read.
        """

    async def import_rows(self, pages: AsyncIterator[RowPage]) -> None:
        """Keep all of it, or nothing.

        Raises:
            StartupError: there is something in this store already.
            StoreUnavailable: it cannot be written.
        """


class WorkspaceSettings(Protocol):
    """What people change about a workspace."""

    async def save_workspace(self, workspace: Workspace) -> None:
        """Replace the workspace with this id; what is remembered of it anywhere is old at once."""


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """Verdict on one request: whether it passed, the limit in force and what is left of it."""

    allowed: bool
    limit: int
    remaining: int
    degraded: bool = False


class RateLimiterUnavailable(Exception):
    """The limit store cannot be reached; reads fall to the standby limit, writes fail closed."""


class RateLimiter(Protocol):
    """Counters in fixed windows."""

    async def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Count one request against ``key`` in the present window.

        Raises:
            RateLimiterUnavailable: the store cannot be reached.
        """
