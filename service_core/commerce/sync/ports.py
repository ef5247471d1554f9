"""Leases that let one process at a time sync a workspace."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class SyncLeases(Protocol):
    """Leases of workspaces: one process at a time syncs each kind of connection."""

    async def acquire_or_renew_lease(
        self, workspace_id: UUID, kind: str, holder: UUID, now: datetime, expires_at: datetime
    ) -> bool:
        """Acquires the lease or renews it; False while another holder has it.

        Args:
            workspace_id: the workspace to sync.
            kind: kind of connections, such as ``ads``, in up to 16 characters.
            holder: id of the process.
            now: the current time.
            expires_at: when the lease ends unless it is renewed.
        """

    async def release_lease(self, workspace_id: UUID, kind: str, holder: UUID) -> None:
        """Releases the lease if the holder still has it."""
