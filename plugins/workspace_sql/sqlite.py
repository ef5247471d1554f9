"""One SQLite file, shared by the processes of a machine."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from plugins.workspace_sql.database import Database, reason_of
from plugins.workspace_sql.generation import Generation
from plugins.workspace_sql.migrate import prepare, probe
from plugins.workspace_sql.settings import SqliteSettings
from plugins.workspace_sql.tickets import FileTickets
from service_core.plugin import StartupError


class SqliteDatabase(Database):
    """The embedded default.

    A write begins with ``BEGIN IMMEDIATE``, which takes the write lock. Left to itself the driver
    begins late, and of two read-then-write transactions one is lost without an error. Other
    processes wait up to ``busy_seconds``.

    Args:
        settings: the file and how long to wait for it.
    """

    def __init__(self, settings: SqliteSettings) -> None:
        super().__init__()
        self._settings = settings
        self._generation: Generation | None = None
        self._tickets: FileTickets | None = None

    async def check(self) -> None:
        """Look whether the file is a database, if there is one yet."""
        if self._settings.file.exists():
            try:
                await asyncio.to_thread(probe, self._settings.file)
            except sqlite3.Error as fault:
                raise StartupError(self._complaint(reason_of(fault))) from None

    async def aclose(self) -> None:
        """Close every connection and file."""
        for held in (self._generation, self._tickets):
            if held is not None:
                held.close()
        await super().aclose()

    def generation(self) -> int:
        """The change counter of the directory."""
        assert self._generation is not None, "start() comes first"
        return self._generation.now()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one state and changes nothing."""
        async with self._connected().connect() as connection:
            yield connection

    @asynccontextmanager
    async def write(self, ticket: str | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, durably, or changes nothing."""
        assert self._tickets is not None, "start() comes first"
        with self._tickets.hold(ticket):
            async with self._transaction(writes=True) as connection:
                yield connection
        if self._generation is not None:
            self._generation.look_again()

    async def _open(self) -> None:
        file = self._settings.file
        file.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(prepare, file, self._settings.busy_seconds)
        self._tickets = FileTickets(_beside(file))
        self._engine = _engine(self._settings)

    async def _watch(self) -> None:
        self._generation = Generation(self._settings.file)

    def _complaint(self, reason: str) -> str:
        return (
            f"{self._settings.file} cannot be used as the workspace store: {reason}. Restore a "
            "backup, name another file in storage.workspace, or run the version that wrote it."
        )


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}-tickets")


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
