"""A database through SQLAlchemy: reads side by side, writes of the same thing one after the other."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from plugins.workspace_sql.change_counter import commit_increment, reset_request
from plugins.workspace_sql.driver_errors import map_driver_errors
from plugins.workspace_sql.schema import UnknownSchemaVersion, upgrade
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, AsyncEngine
from plugins.workspace_sql.write_locks import LockKey
from service_core.plugin import StartupError

SCHEMA_LOCK: Final = "schema"
"""What processes that start together name."""


class Database(ABC):
    """What every part of the directory stands on, whichever engine keeps it.

    A write names what it reads and then writes, and has that to itself before it reads: what it read is
    still true when it commits, and two that read and then write never lose an update. One that names
    nothing is right however it meets others: it inserts, or changes rows by one conditional statement.

    `read`, `write`, `first` and `perform` are the one door: whatever keeps the database from an answer is
    `StoreUnavailable` beyond it.
    """

    def __init__(self) -> None:
        self._engine: AsyncEngine | None = None

    async def start(self) -> None:
        """Open the database and bring its tables up to date.

        Raises:
            StartupError: it cannot be used; nothing stays open.
        """
        try:
            await self._open()
            async with self._write((SCHEMA_LOCK,), no_timeout=True) as connection:
                await connection.run_sync(upgrade)
            await self._start_counter()
        except BaseException as fault:  # a start may be given up, too
            await self.aclose()
            if isinstance(fault, (OSError, sqlite3.Error, SQLAlchemyError, UnknownSchemaVersion)):
                raise StartupError(self._startup_message(driver_message(fault))) from fault
            raise

    async def aclose(self) -> None:
        """Close every connection; one that is at work, when it comes back."""
        if self._engine is not None:
            close_on_return(self._engine.sync_engine)
            await self._engine.dispose()

    @abstractmethod
    async def check(self) -> None:
        """Look whether the database can be opened, and change nothing.

        Raises:
            StartupError: it cannot.
        """

    @abstractmethod
    def change_version(self) -> int | None:
        """The change counter of the directory; None while it is not known."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one state and changes nothing.

        Raises:
            StoreUnavailable: the database is away.
        """
        with map_driver_errors():
            async with self._read() as connection:
                yield connection

    @asynccontextmanager
    async def write(
        self, *lock_keys: LockKey, idempotency_digest: str | None = None, no_timeout: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, durably, or changes nothing.

        Args:
            names: what it has to itself, of all processes.
            ticket: of a request that is performed once.
            unhurried: nobody waits for it, and it may take its time.

        Raises:
            Busy: another process is at work on the ticket.
            StoreUnavailable: the database is away.
        """
        with map_driver_errors():
            async with self._write(lock_keys, idempotency_digest, no_timeout=no_timeout) as connection:
                reset_request(connection)
                yield connection
                generation = await commit_increment(connection)
            self._after_commit(generation)

    async def fetch_one(self, query: sa.Select[Any], values: Mapping[str, Any]) -> sa.RowMapping | None:
        """The first row of a query that finds it by a key: asked for every click on a link.

        Raises:
            StoreUnavailable: the database is away.
        """
        with map_driver_errors():
            return await self._fetch_one(query, values)

    async def run_in_transaction(self, work: Callable[[sa.Connection], None]) -> None:
        """A transaction that names nothing and waits for nothing in between: done for every few clicks.

        Raises:
            StoreUnavailable: the database is away.
        """
        with map_driver_errors():
            await self._run_in_transaction(work)

    @abstractmethod
    def _read(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """As `read`, in the driver's words."""

    @abstractmethod
    def _write(
        self, lock_keys: Sequence[LockKey], idempotency_digest: str | None = None, *, no_timeout: bool = False
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """As `write`, in the driver's words."""

    @abstractmethod
    def _after_commit(self, generation: int | None) -> None:
        """A write of this process is done, and has raised the change counter unless it is None."""

    @abstractmethod
    async def _open(self) -> None:
        """Set the engine."""

    @abstractmethod
    async def _start_counter(self) -> None:
        """Start telling the generation; the tables are there."""

    @abstractmethod
    def _startup_message(self, reason: str) -> str:
        """Why the database cannot be used, and what to do, without its password."""

    async def _fetch_one(self, query: sa.Select[Any], values: Mapping[str, Any]) -> sa.RowMapping | None:
        """As `first`, in the driver's words."""
        async with self._read() as connection:
            found: sa.RowMapping | None = (await connection.execute(query, values)).mappings().first()
        return found

    async def _run_in_transaction(self, work: Callable[[sa.Connection], None]) -> None:
        """As `perform`, in the driver's words."""
        async with self._write(()) as connection:
            await connection.run_sync(work)

    @asynccontextmanager
    async def _transaction(self, **options: Any) -> AsyncIterator[AsyncConnection]:
        """A transaction on a connection of the pool."""
        async with self._connected().connect() as plain:
            connection = await plain.execution_options(**options)
            async with connection.begin():
                yield connection

    def _connected(self) -> AsyncEngine:
        assert self._engine is not None, "start() comes first"
        return self._engine


def close_on_return(engine: sa.Engine) -> None:
    """From now on close what comes back: a pool that has ended forgets it open."""
    event.listen(engine, "checkin", lambda _connection, entry: entry.close())


def insert_into(connection: sa.Connection, table: sa.Table) -> Any:
    """An INSERT in the words of the engine, which say what is done about a row that is there; no other engine's are loaded."""
    return import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)


def driver_message(fault: Exception) -> str:
    """The fault in its driver's words, without the statement SQLAlchemy repeats below them."""
    own = getattr(fault, "orig", None) or fault
    return str(own).partition("\n")[0].rstrip(".")
