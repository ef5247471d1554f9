"""Store of the event store that belongs to the deployment."""

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import upsert
from plugins.workspace_sql.tables import EVENT_STORES
from service_core.plugin import KnownEventStore


class SqlEventStoreRecord(SqlStore):
    """Implements the port `EventStoreRecord`."""

    async def find_event_store(self) -> KnownEventStore | None:
        """Returns the event store that was used last; None before the first."""
        return await self._database.fetch_first_record(KnownEventStore, sa.select(EVENT_STORES))

    async def save_event_store(self, store: KnownEventStore) -> None:
        """Replaces the event store of the deployment."""
        row = {"id": 1, **row_of(store)}
        async with self._database.write() as connection:
            await connection.execute(upsert(connection, EVENT_STORES, row).values(row))
