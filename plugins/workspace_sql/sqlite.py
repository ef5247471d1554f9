"""One SQLite file, shared by the processes of a machine."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event

from plugins.workspace_sql.change_counter import ChangeCounter
from plugins.workspace_sql.database import Database, close_on_return, driver_message_without_statement
from plugins.workspace_sql.request_locks import RequestLocks
from plugins.workspace_sql.schema import (
    enable_wal_retrying_while_locked,
    has_schema,
    require_database_file_of_known_version,
)
from plugins.workspace_sql.settings import SqliteSettings
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, AsyncEngine, create_async_engine
from plugins.workspace_sql.write_locks import LockKey
from service_core.plugin import StartupError, create_private_file, require_writable_paths_or_parents


class SqliteDatabase(Database):
    """The embedded default.

    A write begins with ``BEGIN IMMEDIATE``, which takes the write lock of the file. By default the driver would begin
    later, and one of two transactions that read and then write would be lost without an error. Other processes wait up
    to ``busy_seconds`` for the lock, whatever they write.

    Args:
        settings: the file and how long to wait for it.
    """

    def __init__(self, settings: SqliteSettings) -> None:
        super().__init__()
        self._settings = settings
        self._write_lock = asyncio.Lock()
        self._change_counter: ChangeCounter | None = None
        self._read_engine: Engine | None = None
        self._write_engine: Engine | None = None
        self._request_locks: RequestLocks | None = None

    async def check(self) -> None:
        """Checks that the file can be written, and that it is a database of a known version if it exists.

        Raises:
            StartupError: it is not.
        """
        self._require_writable()
        if self._settings.file.exists():
            try:
                await asyncio.to_thread(require_database_file_of_known_version, self._settings.file)
            except sqlite3.Error as fault:
                raise StartupError(self._startup_message(driver_message_without_statement(fault))) from None

    async def has_tables(self) -> bool:
        """Returns whether the file exists and has a schema of Touchpoint."""
        try:
            return await asyncio.to_thread(has_schema, self._settings.file)
        except sqlite3.Error as fault:
            raise StartupError(self._startup_message(driver_message_without_statement(fault))) from None

    async def aclose(self) -> None:
        """Closes all files and connections; a connection in use is closed when it is returned."""
        for held in (self._change_counter, self._request_locks):
            if held is not None:
                held.close()
        for engine in (self._read_engine, self._write_engine):
            if engine is not None:
                close_on_return(engine)
                engine.dispose()
        await super().aclose()

    def change_version(self) -> int | None:
        """Returns the change counter; None while the file cannot be read."""
        assert self._change_counter is not None, "start() comes first"
        return self._change_counter.current_within_5_milliseconds()

    @asynccontextmanager
    async def _read_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._started_engine().connect() as connection:
            yield connection

    async def _fetch_first_row_by_key(
        self, query: sa.Select[Any], parameters: Mapping[str, Any]
    ) -> sa.RowMapping | None:
        """Returns the first row, read without a thread, because a look-up by key takes less time than the switch."""
        assert self._read_engine is not None, "start() comes first"
        with self._read_engine.connect() as connection:
            return connection.execute(query, parameters).mappings().first()

    @asynccontextmanager
    async def _write_transaction(
        self,
        lock_keys: Sequence[LockKey],  # noqa: ARG002 - a file has one writer
        idempotency_digest: str | None = None,
        *,
        no_timeout: bool = False,  # noqa: ARG002 - a file does not hang
    ) -> AsyncIterator[AsyncConnection]:
        """Opens the only write transaction of the file; lock keys and ``no_timeout`` are ignored.

        Holds the lock of the idempotent request first.

        Raises:
            RequestInProgress: another process holds it.
        """
        assert self._request_locks is not None, "start() comes first"
        with self._request_locks.hold_lock_or_raise_in_progress(idempotency_digest):
            async with self._write_lock, self._pooled_transaction(writes=True) as connection:
                yield connection

    def _after_commit(self, generation: int | None) -> None:  # noqa: ARG002 - the counter is read from the file
        if self._change_counter is not None:
            self._change_counter.invalidate()

    async def _run_in_transaction(self, work: Callable[[Connection], None]) -> None:
        """Runs the whole transaction in one thread, instead of a switch for each of its statements."""
        async with self._write_lock:
            await asyncio.to_thread(self._run_in_thread_transaction, work)

    def _run_in_thread_transaction(self, work: Callable[[Connection], None]) -> None:
        assert self._write_engine is not None, "start() comes first"
        with self._write_engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                work(connection)

    async def _open(self) -> None:
        file = self._settings.file
        self._require_writable()
        create_private_file(file)
        await asyncio.to_thread(enable_wal_retrying_while_locked, file, self._settings.busy_seconds)
        self._request_locks = RequestLocks(_lock_file(file))
        self._engine = _create_async_engine(self._settings)

    async def _start_counter(self) -> None:
        self._change_counter = ChangeCounter(self._settings.file)
        self._read_engine = _create_read_engine(self._settings.file)
        self._write_engine = _create_write_engine(self._settings)

    def _require_writable(self) -> None:
        """Checks that the file and its folder can be written; SQLite keeps its log next to the file."""
        require_writable_paths_or_parents(
            "storage.workspace", self._settings.file.parent, self._settings.file
        )

    def _startup_message(self, reason: str) -> str:
        return (
            f"{self._settings.file} cannot be used as the workspace store: {reason}. Restore a "
            "backup, name another file in storage.workspace, or run the version that wrote it."
        )


def _lock_file(file: Path) -> Path:
    return file.with_name(f"{file.name}-locks")


def _create_async_engine(settings: SqliteSettings) -> AsyncEngine:
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{settings.file}", connect_args={"timeout": settings.busy_seconds}
    )
    _configure_connections(engine.sync_engine)
    return engine


def _create_write_engine(settings: SqliteSettings) -> Engine:
    """Returns an engine for use in threads."""
    engine = sa.create_engine(
        f"sqlite:///{settings.file}",
        connect_args={"timeout": settings.busy_seconds, "check_same_thread": False},
    )
    _configure_connections(engine)
    return engine


def _configure_connections(engine: Engine) -> None:
    event.listen(engine, "connect", _enable_foreign_keys_and_full_sync)
    event.listen(engine, "begin", _begin_immediate_if_writing)


def _create_read_engine(file: Path) -> Engine:
    """Returns an engine with one read-only connection that never waits for a lock."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    return sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None),
        poolclass=sa.StaticPool,
        skip_autocommit_rollback=True,
    )


def _enable_foreign_keys_and_full_sync(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_immediate_if_writing(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
