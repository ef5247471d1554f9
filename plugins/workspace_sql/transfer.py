"""All that a database keeps, on its way into another one."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.change_counter import request_increment
from plugins.workspace_sql.database import Database
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import CHANGE_COUNTER, METADATA
from service_core.plugin import RowPage, StartupError

_PAGE: Final = 1000


class SqlRecords:
    """Implements the port `Portable`: every table, whichever part of the store it belongs to."""

    _database: Database

    async def export_rows(self) -> AsyncGenerator[RowPage, None]:
        """All it keeps, in pages."""
        async with self._database.write(no_timeout=True) as connection:
            await _have_alone(connection)
            for table in _tables():
                rows = (await connection.stream(sa.select(table))).mappings()
                async for page in rows.partitions(_PAGE):
                    yield table.name, [dict(row) for row in page]

    async def import_rows(self, pages: AsyncIterator[RowPage]) -> None:
        """Keep all of it, or nothing."""
        async with self._database.write(no_timeout=True) as connection:
            await _have_alone(connection)
            for table in _tables():
                if await connection.scalar(sa.select(sa.exists(sa.select(table)))):
                    raise StartupError(
                        "The new workspace store keeps something already. Name an empty database."
                    )
            async for name, rows in pages:
                await connection.execute(sa.insert(METADATA.tables[name]), rows)
            request_increment(connection)


def _tables() -> list[sa.Table]:
    """All but the one that says something about the database itself."""
    return [table for table in METADATA.sorted_tables if table is not CHANGE_COUNTER]


async def _have_alone(connection: AsyncConnection) -> None:
    """Let nobody else write until the end of the transaction; on SQLite that is so once it writes."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in _tables())
        await connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
