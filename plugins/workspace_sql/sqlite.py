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
from plugins.workspace_sql.database import Database, close_on_return, driver_message
from plugins.workspace_sql.request_locks import RequestLocks
from plugins.workspace_sql.schema import enable_wal, require_database_file
from plugins.workspace_sql.settings import SqliteSettings
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, AsyncEngine, create_async_engine
from plugins.workspace_sql.write_locks import LockKey
from service_core.plugin import StartupError, require_writable_paths


class SqliteDatabase(Database):
    """The embedded default.

    A write begins with ``BEGIN IMMEDIATE``, which takes the write lock. Left to itself the driver
    begins late, and of two read-then-write transactions one is lost without an error. Other
    processes wait up to ``busy_seconds``, whatever they are about to write: a file has one writer.

    Args:
        settings: the file and how long to wait for it.
    """

    def __init__(self, settings: SqliteSettings) -> None:
        super().__init__()
        self._settings = settings
        self._writing = asyncio.Lock()
        self._generation: ChangeCounter | None = None
        self._glancing: Engine | None = None
        self._working: Engine | None = None
        self._tickets: RequestLocks | None = None

    async def check(self) -> None:
        """Look whether the file may be written and is a database, if there is one yet."""
        self._require_writable()
        if self._settings.file.exists():
            try:
                await asyncio.to_thread(require_database_file, self._settings.file)
            except sqlite3.Error as fault:
                raise StartupError(self._startup_message(driver_message(fault))) from None

    async def aclose(self) -> None:
        """Close every file, and every connection; one that is at work, when it comes back."""
        for held in (self._generation, self._tickets):
            if held is not None:
                held.close()
        for engine in (self._glancing, self._working):
            if engine is not None:
                close_on_return(engine)
                engine.dispose()
        await super().aclose()

    def change_version(self) -> int | None:
        """The change counter of the directory; None while the file cannot be read."""
        assert self._generation is not None, "start() comes first"
        return self._generation.current()

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[AsyncConnection]:
        async with self._started_engine().connect() as connection:
            yield connection

    async def _fetch_one(self, query: sa.Select[Any], values: Mapping[str, Any]) -> sa.RowMapping | None:
        """The first row, read in place: found by a key it takes less time than handing it to a thread."""
        assert self._glancing is not None, "start() comes first"
        with self._glancing.connect() as connection:
            return connection.execute(query, values).mappings().first()

    @asynccontextmanager
    async def _write(
        self,
        lock_keys: Sequence[LockKey],  # noqa: ARG002 - a file has one writer
        idempotency_digest: str | None = None,
        *,
        no_timeout: bool = False,  # noqa: ARG002 - a file does not hang
    ) -> AsyncIterator[AsyncConnection]:
        assert self._tickets is not None, "start() comes first"
        with self._tickets.acquire(idempotency_digest):
            async with self._writing, self._transaction(writes=True) as connection:
                yield connection

    def _after_commit(self, generation: int | None) -> None:  # noqa: ARG002 - it is read, and in no time
        if self._generation is not None:
            self._generation.invalidate()

    async def _run_in_transaction(self, work: Callable[[Connection], None]) -> None:
        """A transaction in a thread: handed over once, and not for each of its statements."""
        async with self._writing:
            await asyncio.to_thread(self._performed, work)

    def _performed(self, work: Callable[[Connection], None]) -> None:
        assert self._working is not None, "start() comes first"
        with self._working.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                work(connection)

    async def _open(self) -> None:
        file = self._settings.file
        self._require_writable()
        file.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(enable_wal, file, self._settings.busy_seconds)
        self._tickets = RequestLocks(_beside(file))
        self._engine = _engine(self._settings)

    async def _start_counter(self) -> None:
        self._generation = ChangeCounter(self._settings.file)
        self._glancing = _reader(self._settings.file)
        self._working = _worker(self._settings)

    def _require_writable(self) -> None:
        """The file, and the folder: SQLite keeps its log beside the file."""
        require_writable_paths("storage.workspace", self._settings.file.parent, self._settings.file)

    def _startup_message(self, reason: str) -> str:
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
    _follow_rules(engine.sync_engine)
    return engine


def _worker(settings: SqliteSettings) -> Engine:
    """The same without the event loop."""
    engine = sa.create_engine(
        f"sqlite:///{settings.file}",
        connect_args={"timeout": settings.busy_seconds, "check_same_thread": False},
    )
    _follow_rules(engine)
    return engine


def _follow_rules(engine: Engine) -> None:
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begun)


def _reader(file: Path) -> Engine:
    """One connection that only reads and waits for nobody."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    return sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None),
        poolclass=sa.StaticPool,
        skip_autocommit_rollback=True,
    )


def _connected(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begun(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
