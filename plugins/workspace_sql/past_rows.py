"""The workspace store as it was at an earlier instant."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import WORKSPACES
from plugins.workspace_sql.database import Database, SqlStore
from plugins.workspace_sql.memory import MemoryDatabase
from plugins.workspace_sql.records import RECORDED_AT
from plugins.workspace_sql.revenue_tables import (
    AD_ENTITIES,
    AD_SPEND,
    EXCHANGE_RATES,
    ITEM_COSTS,
    RATE_SOURCES,
    REPORTED_STATES,
    SUBSCRIPTION_PAYMENTS,
)
from plugins.workspace_sql.row_history import (
    REPLACED_ROWS,
    Row,
    fetch_plain_rows,
    plain_table,
    read_rows_replaced_after,
    rows_as_of,
)
from plugins.workspace_sql.subscriptions import recompute_subscriptions
from plugins.workspace_sql.tables import CONNECTIONS, POLL_STATES, RESOURCES
from plugins.workspace_sql.transactions import TYPES_WITH_HISTORY
from service_core.plugin import Clock, WorkspaceStore

_TABLES: Final = (
    WORKSPACES,
    CONNECTIONS,
    POLL_STATES,
    AD_SPEND,
    AD_ENTITIES,
    ITEM_COSTS,
    EXCHANGE_RATES,
    RATE_SOURCES,
    REPORTED_STATES,
    SUBSCRIPTION_PAYMENTS,
)
"""The tables with a history, referenced ones first; of resources only those that change the answers of reads have one."""

_ENTITY_DAY: Final = ("level", "platform", "account_id", "entity_id", "day")
_PastRows = Mapping[sa.Table, Sequence[Row]]


class SqlWorkspaceHistory(SqlStore):
    """Implements the port `WorkspaceHistory`.

    Args:
        database: whose rows.
        stores_on: returns the stores on another database.
    """

    def __init__(self, database: Database, stores_on: Callable[[Database], WorkspaceStore]) -> None:
        super().__init__(database)
        self._stores_on = stores_on

    def use_clock(self, clock: Clock) -> None:
        """Sets the clock that says when something is recorded."""
        self._database.clock = clock

    async def recording_start(self, workspace_id: UUID) -> datetime:
        """Returns when the earliest known state of the workspace was recorded."""
        beginning = datetime.min.replace(tzinfo=UTC)
        async with self._database.read() as connection:
            replaced = await connection.run_sync(
                read_rows_replaced_after, workspace_id, beginning, WORKSPACES
            )
            present = await connection.scalar(
                sa.select(WORKSPACES.c.recorded_at).where(WORKSPACES.c.id == workspace_id)
            )
        kept = (datetime.fromisoformat(row[RECORDED_AT]) for row in replaced.get(WORKSPACES.name, ()))
        return min((present or self._database.clock(), *kept))

    @asynccontextmanager
    async def restore(self, workspace_id: UUID, as_of: datetime) -> AsyncIterator[WorkspaceStore]:
        """Gives a store in memory with the rows of the instant; without rows if the workspace was not recorded by then."""
        async with self._database.read() as connection:
            rows = await connection.run_sync(_past_rows, workspace_id, as_of)
        database = MemoryDatabase()
        try:
            await database.start()
            if rows[WORKSPACES]:
                async with database.write() as connection:
                    await connection.run_sync(_insert_rows, rows, workspace_id)
            yield self._stores_on(database)
        finally:
            await database.aclose()

    async def delete_replaced_rows(self, before: datetime) -> None:
        """Deletes the rows that were replaced before an instant."""
        await self._database.execute(sa.delete(REPLACED_ROWS).where(REPLACED_ROWS.c.recorded_until < before))


def _past_rows(connection: sa.Connection, workspace_id: UUID, as_of: datetime) -> _PastRows:
    replaced = read_rows_replaced_after(connection, workspace_id, as_of)
    rows: dict[sa.Table, Sequence[Row]] = {
        table: list(rows_as_of(connection, table, replaced, workspace_id, as_of).values())
        for table in _TABLES
    }
    rows[AD_SPEND] = _mark_latest_versions(rows[AD_SPEND])
    own = RESOURCES.c.workspace_id == workspace_id
    others = fetch_plain_rows(connection, RESOURCES, own, RESOURCES.c.type.not_in(TYPES_WITH_HISTORY))
    resources = rows_as_of(connection, RESOURCES, replaced, workspace_id, as_of)
    rows[RESOURCES] = [
        *others,
        *(row for row in resources.values() if row["type"] in TYPES_WITH_HISTORY),
    ]
    return rows


def _mark_latest_versions(rows: Sequence[Row]) -> list[Row]:
    """Returns versions of ad spend; of each day of an entity the one that was fetched last is the latest."""
    versions: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["fetched_at"], row["attribution_setting"])):
        versions[tuple(row[name] for name in _ENTITY_DAY)].append(row)
    return [{**row, "is_latest": row is of_day[-1]} for of_day in versions.values() for row in of_day]


def _insert_rows(connection: sa.Connection, rows: _PastRows, workspace_id: UUID) -> None:
    for table, past in rows.items():
        if past:
            connection.execute(sa.insert(plain_table(table)), list(past))
    recompute_subscriptions(
        connection, workspace_id, sorted({row["subscription"] for row in rows[REPORTED_STATES]})
    )
