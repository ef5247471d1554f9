"""Export of all rows of a store, and import into another store of the same schema version."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.change_counter import request_increment_at_commit
from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import METADATA
from plugins.workspace_sql.row_history import plain_table
from plugins.workspace_sql.schema import DATABASE_TABLES
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from service_core.plugin import RowPage, StartupError

_PAGE_SIZE: Final = 1000


class SqlTransfer(SqlStore):
    """Implements the port `TransferableStore`."""

    async def export_rows(self) -> AsyncGenerator[RowPage, None]:
        """Returns all rows in pages. Nothing changes meanwhile."""
        async with self._database.write(no_timeout=True) as connection:
            await _lock_tables(connection)
            for table in _content_tables():
                rows = (await connection.stream(sa.select(*plain_table(table).columns))).mappings()
                async for page in rows.partitions(_PAGE_SIZE):
                    yield table.name, [dict(row) for row in page]

    async def import_rows_into_empty_store(self, pages: AsyncIterator[RowPage]) -> None:
        """Inserts all rows in one transaction."""
        async with self._database.write(no_timeout=True) as connection:
            await _lock_tables(connection)
            for table in _content_tables():
                if await connection.scalar(sa.select(sa.exists(sa.select(table)))):
                    raise StartupError("The new workspace store is not empty. Name an empty database.")
            async for name, rows in pages:
                await connection.execute(sa.insert(plain_table(METADATA.tables[name])), rows)
            request_increment_at_commit(connection)


def _content_tables() -> list[sa.Table]:
    """Returns all tables but those that describe the database itself, referenced ones first."""
    return [table for table in METADATA.sorted_tables if table not in DATABASE_TABLES]


async def _lock_tables(connection: AsyncConnection) -> None:
    """Prevents other writes until the transaction ends. SQLite does so with the first write."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in _content_tables())
        await connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
