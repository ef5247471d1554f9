"""One SQLite file through SQLAlchemy: reads side by side, writes one after the other."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from plugins.workspace_sql.generation import Generation
from plugins.workspace_sql.migrate import SchemaUnknown, prepare, upgrade
from plugins.workspace_sql.settings import SqliteSettings
from service_core.plugin import StartupError


class Database:
    """The engine and its rules.

    A write begins with ``BEGIN IMMEDIATE``: it holds the write lock before it reads, so what it
    read is still true when it commits. Left to itself the driver begins late, and of two
    read-then-write transactions one is lost without an error. Writers of one process queue in
    order; those of other processes wait up to ``busy_seconds``.

    Args:
        settings: the file and how long to wait for it.
    """

    def __init__(self, settings: SqliteSettings) -> None:
        self._settings = settings
        self._writing = asyncio.Lock()
        self._engine: AsyncEngine | None = None
        self._generation: Generation | None = None

    async def start(self) -> None:
        """Create the file if need be and bring its tables up to date.

        Raises:
            StartupError: the file cannot be used; nothing stays open.
        """
        try:
            await self._open()
        except (OSError, sqlite3.Error, SQLAlchemyError, SchemaUnknown) as fault:
            await self.aclose()
            raise StartupError(
                f"{self._settings.file} cannot be used as the workspace store: {_reason(fault)}. Restore a "
                "backup, name another file in storage.workspace, or run the version that wrote it."
            ) from fault

    async def _open(self) -> None:
        file = self._settings.file
        file.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(prepare, file, self._settings.busy_seconds)
        self._engine = _engine(self._settings)
        async with self.write() as connection:
            await connection.run_sync(upgrade)
        self._generation = Generation(file)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._generation is not None:
            self._generation.close()
        if self._engine is not None:
            await self._engine.dispose()

    def generation(self) -> int:
        """The change counter of the directory."""
        assert self._generation is not None, "start() comes first"
        return self._generation.now()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one state and changes nothing."""
        assert self._engine is not None, "start() comes first"
        async with self._engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, durably, or changes nothing."""
        assert self._engine is not None, "start() comes first"
        async with self._writing, self._engine.connect() as plain:
            connection = await plain.execution_options(writes=True)
            async with connection.begin():
                yield connection
        if self._generation is not None:
            self._generation.look_again()


def _reason(fault: Exception) -> str:
    """The fault in its own words, without the statement SQLAlchemy repeats below them."""
    return str(fault).partition("\n")[0].rstrip(".")


def _engine(settings: SqliteSettings) -> AsyncEngine:
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{settings.file}", connect_args={"timeout": settings.busy_seconds}
    )
    event.listen(engine.sync_engine, "connect", _connected)
    event.listen(engine.sync_engine, "begin", _begun)
    return engine


def _connected(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begun(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
