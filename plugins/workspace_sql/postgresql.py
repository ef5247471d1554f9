"""A PostgreSQL database, shared by the processes of many machines."""

import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from plugins.workspace_sql.access_tables import CHANGE_COUNTER
from plugins.workspace_sql.change_counter_poller import PolledChangeCounter
from plugins.workspace_sql.database import Database, driver_message_without_statement
from plugins.workspace_sql.deadline import set_task_deadline
from plugins.workspace_sql.request_locks import lock_id
from plugins.workspace_sql.schema import require_known_schema_version
from plugins.workspace_sql.settings import PostgresSettings
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, AsyncEngine, create_async_engine
from plugins.workspace_sql.write_locks import KeyedLocks, LockKey, sorted_lock_ids
from service_core.plugin import RequestInProgress, StartupError

_READ_ONLY_SERVER: Final = sa.text(
    "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean"
)
_COUNTED: Final = sa.select(CHANGE_COUNTER.c.value)
_VERSION_TABLE_NAME: Final = sa.select(sa.cast(sa.func.to_regclass("alembic_version"), sa.Text))
_READING: Final[dict[str, Any]] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_WRITING: Final[dict[str, Any]] = {"isolation_level": "READ COMMITTED"}
_IDLE_SECONDS: Final = 30
_TCP_TIMEOUT_SECONDS: Final = 10
_COUNTER_TIMEOUT_SECONDS: Final = 4
_ALIVE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A lost machine is noticed within a minute, also by connections that send nothing."""


class PostgresDatabase(Database):
    """The database of a deployment on several machines.

    A write takes an advisory lock for each of its lock keys before its first statement, so it reads what earlier writes
    have committed. The locks end with the transaction, and the transaction with its connection; the server ends a
    transaction that is idle for 30 seconds.

    Every wait for the server or a lock ends after ``timeout_seconds``, so a server that hangs counts as unavailable. A
    commit that was already sent may still succeed. Until then the locks are held, so a retry of the same request finds
    either the locks or the stored answer.

    Args:
        settings: the server, the database and how long to wait.

    Raises:
        StartupError: the driver is not installed.
    """

    def __init__(self, settings: PostgresSettings) -> None:
        if find_spec("psycopg") is None:
            raise StartupError(
                "postgresql:// needs psycopg. Install it with `pip install touchpoint-analytics[postgres]`."
            )
        super().__init__()
        self._settings = settings
        self._local_locks = KeyedLocks()
        self._counter_engine: AsyncEngine | None = None
        self._change_counter = PolledChangeCounter(self._read_counter)

    async def check(self) -> None:
        """Checks that the database answers and has a known version, without a change.

        Raises:
            StartupError: it does not.
        """
        await self._run_before_start(require_known_schema_version)

    async def has_tables(self) -> bool:
        """Returns whether the database has a schema of Touchpoint."""
        name = await self._run_before_start(lambda connection: connection.scalar(_VERSION_TABLE_NAME))
        return name is not None

    async def takes_writes(self) -> bool:
        """Returns whether the server is no standby, and its transactions are not read-only by default."""
        async with self.read() as connection:
            return not await connection.scalar(_READ_ONLY_SERVER)

    async def _run_before_start(self, work: Callable[[sa.Connection], Any]) -> Any:
        """Runs a function on a connection of its own and returns its result.

        Raises:
            StartupError: the database does not answer.
        """
        engine = _create_engine(self._settings, 1)
        try:
            with set_task_deadline(self._settings.timeout_seconds):
                async with engine.connect() as connection:
                    return await connection.run_sync(work)
        except (OSError, SQLAlchemyError) as fault:
            raise StartupError(self._startup_message(driver_message_without_statement(fault))) from None
        finally:
            await engine.dispose()

    async def aclose(self) -> None:
        """Stop reading the change counter, and close every connection."""
        await self._change_counter.aclose()
        if self._counter_engine is not None:
            await self._counter_engine.dispose()
        await super().aclose()

    def change_version(self) -> int | None:
        """Returns the change counter; None while it is unknown."""
        return self._change_counter.current_unless_older_than_5_seconds()

    @asynccontextmanager
    async def _read_transaction(self) -> AsyncIterator[AsyncConnection]:
        """Opens a read-only transaction that reads one state, at most until the timeout."""
        with set_task_deadline(self._settings.timeout_seconds):
            async with self._started_engine().connect() as plain:
                yield await plain.execution_options(**_READING)

    @asynccontextmanager
    async def _write_transaction(
        self, lock_keys: Sequence[LockKey], idempotency_digest: str | None = None, *, no_timeout: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """Opens a transaction that holds the locks of its keys and of its idempotent request."""
        ids = sorted_lock_ids(lock_keys)
        with set_task_deadline(None if no_timeout else self._settings.timeout_seconds):
            async with self._local_locks.acquire(ids), self._pooled_transaction(**_WRITING) as connection:
                if no_timeout:
                    await connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                if idempotency_digest is not None and not await connection.scalar(
                    _try_request_lock(idempotency_digest)
                ):
                    raise RequestInProgress
                if ids:
                    await connection.execute(_acquire_locks_statement(ids))
                yield connection

    def _after_commit(self, change_version: int | None) -> None:
        if change_version is not None:
            self._change_counter.set_at_least(change_version)

    async def _open(self) -> None:
        self._engine = _create_engine(self._settings, self._settings.connections)
        self._counter_engine = _create_engine(self._settings, 1, isolation_level="AUTOCOMMIT")

    async def _start_counter(self) -> None:
        await self._change_counter.start()

    async def _read_counter(self) -> int:
        assert self._counter_engine is not None, "start() comes first"
        with set_task_deadline(_COUNTER_TIMEOUT_SECONDS):
            async with self._counter_engine.connect() as connection:
                value: int = (await connection.execute(_COUNTED)).scalar_one()
                return value

    def _startup_message(self, reason: str) -> str:
        return (
            f"PostgreSQL at {self._settings.location} cannot be used as the workspace store: {reason}. See that the "
            "server runs, that host, database, user and password in storage.workspace are right, and that this "
            "version of Touchpoint is not older than the one that wrote the database."
        )


def _try_request_lock(idempotency_digest: str) -> sa.Select[tuple[bool]]:
    return sa.select(sa.func.pg_try_advisory_xact_lock(lock_id(idempotency_digest)))


def _acquire_locks_statement(ids: Sequence[int]) -> sa.Select[Any]:
    """Returns the statement that takes advisory locks in the given order."""
    return sa.select(*(sa.func.pg_advisory_xact_lock(id_) for id_ in ids))


def _create_engine(settings: PostgresSettings, max_connections: int, **options: Any) -> AsyncEngine:
    """Returns an engine with at most ``size`` connections; one that a restart of the server cut is replaced."""
    from plugins.workspace_sql.deadline_connection import connect_before_deadline  # noqa: PLC0415 - needs the driver

    rules = {
        "statement_timeout": int(settings.timeout_seconds * 1000),
        "idle_in_transaction_session_timeout": _IDLE_SECONDS * 1000,
        "timezone": "UTC",
    }
    arguments = {
        "async_creator_fn": connect_before_deadline,
        "application_name": "touchpoint",
        "connect_timeout": math.ceil(settings.timeout_seconds),
        **_ALIVE,
        "tcp_user_timeout": _TCP_TIMEOUT_SECONDS * 1000,
        "options": " ".join(f"-c {name}={value}" for name, value in rules.items()),
        "sslmode": settings.sslmode,
        **({"sslrootcert": str(settings.sslrootcert)} if settings.sslrootcert else {}),
    }
    user, password = settings.credentials
    address = sa.URL.create(
        "postgresql+psycopg", user, password, settings.host, settings.port, settings.database
    )
    return create_async_engine(
        address,
        pool_size=max_connections,
        max_overflow=0,
        pool_timeout=settings.timeout_seconds,
        pool_pre_ping=True,
        connect_args=arguments,
        **options,
    )
