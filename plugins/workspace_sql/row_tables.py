"""Rows of one workspace in tables of their own, read and written in the transaction of a change."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import WORKSPACES
from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.records import RECORDED_AT, record_of, row_of
from plugins.workspace_sql.row_history import keep_replaced_rows, save_rows_keeping_replaced
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.statements import matches, upsert
from plugins.workspace_sql.tables import CONNECTIONS, ENCRYPTED_SECRETS, POLL_STATES
from service_core.plugin import Clock, Connection, EncryptedSecrets, Workspace

_Row = TypeVar("_Row")

_TABLES: Final[Mapping[type, sa.Table]] = MappingProxyType(
    {Workspace: WORKSPACES, Connection: CONNECTIONS, EncryptedSecrets: ENCRYPTED_SECRETS}
)
_DEPENDENT_TABLES: Final[Mapping[type, tuple[sa.Table, ...]]] = MappingProxyType(
    {Connection: (ENCRYPTED_SECRETS, POLL_STATES)}
)
"""Dataclass to the tables whose rows have its key and are deleted with it."""

_KEPT_COLUMNS: Final[Mapping[type, tuple[str, ...]]] = MappingProxyType(
    {Workspace: ("triggers",), Connection: ("created_at",)}
)
"""Columns of a present row that saving keeps: the triggers of a workspace follow from its rules."""


class SqlRowTables:
    """Implements the port `RowTables`."""

    def __init__(self, connection: AsyncConnection, workspace_id: UUID, clock: Clock) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._clock = clock

    async def list_rows(self, model: type[_Row]) -> list[_Row]:
        """Returns the rows of a dataclass that belong to the workspace."""
        table = _TABLES[model]
        rows = await self._connection.execute(sa.select(table).where(self._is_own(table)))
        return [record_of(model, row) for row in rows.mappings()]

    async def save_row(self, row: object) -> None:
        """Adds or replaces a row."""
        model, values = type(row), row_of(row)
        table, kept = _TABLES[model], _KEPT_COLUMNS.get(model, ())
        if RECORDED_AT in table.c:
            await self._connection.run_sync(
                partial(save_rows_keeping_replaced, kept_columns=kept), table, [values], self._clock()
            )
        else:
            statement = upsert(self._connection, table, values, kept_columns=kept)
            await self._connection.execute(statement.values(values))
        if model is Workspace:
            request_increment_at_commit(self._connection)

    async def delete_rows(self, model: type, **key: str) -> None:
        """Deletes rows and what depends on them."""
        for table in (*_DEPENDENT_TABLES.get(model, ()), _TABLES[model]):
            condition = sa.and_(self._is_own(table), matches(table, **key))
            if RECORDED_AT in table.c:
                await self._connection.run_sync(keep_replaced_rows, table, condition, self._clock())
            await self._connection.execute(sa.delete(table).where(condition))

    def _is_own(self, table: sa.Table) -> sa.ColumnElement[Any]:
        owner = table.c.id if table is WORKSPACES else table.c.workspace_id
        return owner == self._workspace_id
