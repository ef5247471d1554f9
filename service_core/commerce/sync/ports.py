"""Leases that let one process at a time sync a workspace."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class SyncLeases(Protocol):
    """Whose turn it is to read for a workspace: one process at a time reads each kind of thing."""

    async def acquire_lease(
        self, workspace_id: UUID, kind: str, holder: UUID, now: datetime, expires_at: datetime
    ) -> bool:
        """Have the turn, or have it for longer; False while somebody else does.

        Args:
            workspace_id: for whom is read.
            what: kind of what is read, such as ``ads``, in up to 16 characters.
            holder: who asks, by an id of its own.
            now: the present.
            until: when it is over for a holder that died.
        """

    async def release_lease(self, workspace_id: UUID, kind: str, holder: UUID) -> None:
        """Let the turn go, if it is still the holder's."""
