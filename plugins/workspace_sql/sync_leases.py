"""Store of sync leases."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.statements import is_free, matches, upsert
from plugins.workspace_sql.tables import SYNC_LEASES


class SqlSyncLeases(SqlStore):
    """Implements the port `SyncLeases`."""

    async def acquire_or_renew_lease(
        self, workspace_id: UUID, kind: str, holder: UUID, now: datetime, until: datetime
    ) -> bool:
        """Acquires or extends a lease. Returns False while another holder has it."""
        row = {"workspace_id": workspace_id, "kind": kind, "holder": holder, "held_until": until}
        free = sa.or_(SYNC_LEASES.c.holder == holder, is_free(SYNC_LEASES, now))
        async with self._database.write() as connection:
            acquire = upsert(connection, SYNC_LEASES, row, update_condition=lambda _given: free)
            acquired = await connection.execute(acquire.values(row).returning(SYNC_LEASES.c.holder))
            return acquired.first() is not None

    async def release_lease(self, workspace_id: UUID, kind: str, holder: UUID) -> None:
        """Releases a lease if the holder still has it."""
        own = matches(SYNC_LEASES, workspace_id=workspace_id, kind=kind, holder=holder)
        await self._database.execute(sa.delete(SYNC_LEASES).where(own))
