"""A database through SQLAlchemy. Reads run in parallel; writes with the same lock key run one after the other."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from plugins.workspace_sql.change_counter import forget_increment_request, increment_if_requested
from plugins.workspace_sql.driver_errors import driver_errors_as_store_unavailable
from plugins.workspace_sql.records import record_of
from plugins.workspace_sql.schema import require_known_schema_version, run_missing_migrations
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, AsyncEngine
from plugins.workspace_sql.statements import insert_if_absent
from plugins.workspace_sql.write_locks import LockKey
from service_core.plugin import Clock, StartupError, system_clock

_Record = TypeVar("_Record")

SCHEMA_LOCK: Final = "schema"
"""The lock key of processes that start together."""


class Database(ABC):
    """A database of any engine.

    A transaction that reads and then writes names lock keys for what it reads. It holds these locks before
    it reads, so no update is lost. A transaction without lock keys is correct beside any other one: it
    inserts rows, or changes rows by one conditional statement.

    All public methods that read or write raise `StoreUnavailable` when the database does not answer.
    """

    def __init__(self) -> None:
        self._engine: AsyncEngine | None = None
        self.clock: Clock = system_clock
        """Says when rows are recorded."""

    async def start(self) -> None:
        """Opens the database, and creates its tables if it has none.

        Raises:
            StartupError: it cannot be used; nothing stays open.
        """
        try:
            await self._open()
            async with self._write_transaction((SCHEMA_LOCK,), no_timeout=True) as connection:
                await connection.run_sync(run_missing_migrations)
            await self._start_counter()
        except BaseException as fault:  # a start may also be canceled
            await self.aclose()
            if isinstance(fault, (OSError, sqlite3.Error, SQLAlchemyError)):
                raise StartupError(self._startup_message(driver_message_without_statement(fault))) from fault
            raise

    async def aclose(self) -> None:
        """Closes all connections. One that is in use is closed when it is returned."""
        if self._engine is not None:
            close_on_return(self._engine.sync_engine)
            await self._engine.dispose()

    @abstractmethod
    async def check(self) -> None:
        """Checks that the database can be opened, without a change.

        Raises:
            StartupError: it cannot.
        """

    async def check_stored_version(self) -> None:
        """Checks that the open database still has a schema that this version knows.

        Raises:
            StartupError: another version has changed it.
            StoreUnavailable: the database does not answer.
        """
        async with self.read() as connection:
            await connection.run_sync(require_known_schema_version)

    async def takes_writes(self) -> bool:
        """Returns whether the open database takes writes, as far as it says so itself."""
        return True

    @abstractmethod
    async def has_tables(self) -> bool:
        """Returns whether the database has a schema of Touchpoint, of any version; creates nothing.

        Raises:
            StartupError: it cannot be read.
        """

    @abstractmethod
    def change_version(self) -> int | None:
        """Returns the change counter, or None while it is unknown."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Opens a transaction that reads one state of the database.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        with driver_errors_as_store_unavailable():
            async with self._read_transaction() as connection:
                yield connection

    @asynccontextmanager
    async def write(
        self, *lock_keys: LockKey, idempotency_digest: str | None = None, no_timeout: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """Opens a transaction. It is durable at the end of the block; an exception rolls it back.

        Args:
            lock_keys: locks that it holds, across all processes.
            idempotency_digest: of the idempotent request it belongs to.
            no_timeout: it may take as long as it needs, because no request waits for it.

        Raises:
            RequestInProgress: another process performs the same request.
            StoreUnavailable: the database does not answer.
        """
        with driver_errors_as_store_unavailable():
            async with self._write_transaction(
                lock_keys, idempotency_digest, no_timeout=no_timeout
            ) as connection:
                forget_increment_request(connection)
                yield connection
                change_version = await increment_if_requested(connection)
            self._after_commit(change_version)

    async def fetch_rows(
        self, query: sa.Select[Any], parameters: Mapping[str, Any] | None = None
    ) -> Sequence[sa.RowMapping]:
        """Returns all rows of a query.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        async with self.read() as connection:
            rows: Sequence[sa.RowMapping] = (await connection.execute(query, parameters)).mappings().all()
        return rows

    async def fetch_records(self, model: type[_Record], query: sa.Select[Any]) -> list[_Record]:
        """Returns all rows of a query as dataclasses.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        return [record_of(model, row) for row in await self.fetch_rows(query)]

    async def fetch_first_record(self, model: type[_Record], query: sa.Select[Any]) -> _Record | None:
        """Returns the first row of a query as a dataclass, or None.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        return next(iter(await self.fetch_records(model, query)), None)

    async def execute(self, statement: sa.Update | sa.Delete | sa.Insert, *lock_keys: LockKey) -> int:
        """Executes one statement in a transaction of its own, and returns the number of changed rows.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        async with self.write(*lock_keys) as connection:
            return (await connection.execute(statement)).rowcount

    async def insert_if_absent(self, table: sa.Table, row: Mapping[str, Any]) -> bool:
        """Inserts a row, and returns whether there was none with its key.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        async with self.write() as connection:
            insert = insert_if_absent(connection, table).values(row).returning(*table.primary_key)
            return (await connection.execute(insert)).first() is not None

    async def delete_and_return_record(
        self, model: type[_Record], table: sa.Table, condition: sa.ColumnElement[bool]
    ) -> _Record | None:
        """Deletes a row, and returns it as a dataclass. Of several callers one gets it.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        delete = sa.delete(table).where(condition).returning(*table.columns)
        async with self.write() as connection:
            row = (await connection.execute(delete)).mappings().first()
        return None if row is None else record_of(model, row)

    async def fetch_first_row_by_key(
        self, query: sa.Select[Any], parameters: Mapping[str, Any]
    ) -> sa.RowMapping | None:
        """Returns the first row of a query by key, or None. It is fast enough for every click on a link.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        with driver_errors_as_store_unavailable():
            return await self._fetch_first_row_by_key(query, parameters)

    async def run_in_transaction(self, work: Callable[[sa.Connection], None]) -> None:
        """Runs a function in a transaction without lock keys. It is fast enough for small batches of clicks.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        with driver_errors_as_store_unavailable():
            await self._run_in_transaction(work)

    @abstractmethod
    def _read_transaction(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Implements `read`, with exceptions of the driver."""

    @abstractmethod
    def _write_transaction(
        self, lock_keys: Sequence[LockKey], idempotency_digest: str | None = None, *, no_timeout: bool = False
    ) -> AbstractAsyncContextManager[AsyncConnection]:
        """Implements `write`, with exceptions of the driver."""

    @abstractmethod
    def _after_commit(self, change_version: int | None) -> None:
        """Handles a committed write, which has set the change counter unless it is None."""

    @abstractmethod
    async def _open(self) -> None:
        """Sets the engine."""

    @abstractmethod
    async def _start_counter(self) -> None:
        """Starts to read the change counter. The tables exist."""

    @abstractmethod
    def _startup_message(self, reason: str) -> str:
        """Returns why the database cannot be used and what to do, without its password."""

    async def _fetch_first_row_by_key(
        self, query: sa.Select[Any], parameters: Mapping[str, Any]
    ) -> sa.RowMapping | None:
        """Implements `fetch_first_row_by_key`, with exceptions of the driver."""
        async with self._read_transaction() as connection:
            row: sa.RowMapping | None = (await connection.execute(query, parameters)).mappings().first()
        return row

    async def _run_in_transaction(self, work: Callable[[sa.Connection], None]) -> None:
        """Implements `run_in_transaction`, with exceptions of the driver."""
        async with self._write_transaction(()) as connection:
            await connection.run_sync(work)

    @asynccontextmanager
    async def _pooled_transaction(self, **execution_options: Any) -> AsyncIterator[AsyncConnection]:
        """Opens a transaction on a connection of the pool."""
        async with self._started_engine().connect() as plain:
            connection = await plain.execution_options(**execution_options)
            async with connection.begin():
                yield connection

    def _started_engine(self) -> AsyncEngine:
        assert self._engine is not None, "start() comes first"
        return self._engine


class SqlStore:
    """A store on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database


def close_on_return(engine: sa.Engine) -> None:
    """Closes connections that are returned from now on: a disposed pool would leave them open."""
    event.listen(engine, "checkin", lambda _connection, entry: entry.close())


def driver_message_without_statement(fault: Exception) -> str:
    """Returns the message of the driver, without the statement that SQLAlchemy appends."""
    original = getattr(fault, "orig", None) or fault
    return str(original).partition("\n")[0].rstrip(".")
