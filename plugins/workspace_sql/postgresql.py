"""A PostgreSQL database, shared by the processes of many machines."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from plugins.workspace_sql.database import Database, reason_of
from plugins.workspace_sql.polled import PolledGeneration
from plugins.workspace_sql.settings import PostgresSettings
from plugins.workspace_sql.tables import GENERATION
from plugins.workspace_sql.tickets import place_of
from service_core.plugin import Busy, StartupError

_WRITERS: Final = 0x746F756368706F69
"""The advisory lock of whoever writes: the first letters of the house as a number, larger than any ticket's."""
_COUNTED: Final = sa.select(GENERATION.c.value)
_READING: Final[dict[str, Any]] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_WRITING: Final[dict[str, Any]] = {"isolation_level": "READ COMMITTED"}
_UNUSED_SECONDS: Final = 30
_UNHEARD_SECONDS: Final = 10
_CONNECT_SECONDS: Final = 5


class PostgresDatabase(Database):
    """The database of a deployment on several machines.

    A write takes an advisory lock before its first statement, so it reads what the writers before
    it have committed. The lock ends with the transaction, and the transaction with its connection;
    the server ends one that stands idle for 30 seconds.

    Args:
        settings: the server, the database and how long to wait for a write.

    Raises:
        StartupError: the driver is not installed.
    """

    def __init__(self, settings: PostgresSettings) -> None:
        if find_spec("psycopg") is None:
            raise StartupError(
                "postgresql:// needs psycopg. Install it with `pip install touchpoint[postgres]`."
            )
        super().__init__()
        self._settings = settings
        self._watcher: AsyncEngine | None = None
        self._generation = PolledGeneration(self._ask)

    async def check(self) -> None:
        """Look whether the database answers; changes nothing.

        Raises:
            StartupError: it does not.
        """
        engine = _engine(self._settings, 1)
        try:
            async with engine.connect() as connection:
                await connection.execute(sa.select(1))
        except (OSError, SQLAlchemyError) as fault:
            raise StartupError(self._complaint(reason_of(fault))) from None
        finally:
            await engine.dispose()

    async def aclose(self) -> None:
        """Stop asking, and close every connection."""
        await self._generation.aclose()
        if self._watcher is not None:
            await self._watcher.dispose()
        await super().aclose()

    def generation(self) -> int | None:
        """The change counter of the directory; None while the server has not told it."""
        return self._generation.now()

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[AsyncConnection]:
        async with self._connected().connect() as plain:
            yield await plain.execution_options(**_READING)

    @asynccontextmanager
    async def _write(self, ticket: str | None) -> AsyncIterator[AsyncConnection]:
        async with self._transaction(**_WRITING) as connection:
            if ticket is not None and not await connection.scalar(_try(ticket)):
                raise Busy
            await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITERS)))
            yield connection
            value = (await connection.execute(_COUNTED)).scalar_one()  # under the lock it stays so
        self._generation.learn(value, time.monotonic())

    async def _open(self) -> None:
        self._engine = _engine(self._settings, self._settings.connections)
        self._watcher = _engine(self._settings, 1, isolation_level="AUTOCOMMIT")

    async def _watch(self) -> None:
        await self._generation.start()

    async def _ask(self) -> int:
        assert self._watcher is not None, "start() comes first"
        async with self._watcher.connect() as connection:
            value: int = (await connection.execute(_COUNTED)).scalar_one()
            return value

    def _complaint(self, reason: str) -> str:
        return (
            f"PostgreSQL at {self._settings.place} cannot be used as the workspace store: {reason}. See that the "
            "server runs, that host, database, user and password in storage.workspace are right, and that this "
            "version of Touchpoint is not older than the one that wrote the database."
        )


def _try(ticket: str) -> sa.Select[tuple[bool]]:
    return sa.select(sa.func.pg_try_advisory_xact_lock(place_of(ticket)))


def _engine(settings: PostgresSettings, size: int, **options: Any) -> AsyncEngine:
    """An engine of at most ``size`` connections; one that a restart of the server cut is replaced unseen."""
    rules = {
        "lock_timeout": int(settings.busy_seconds * 1000),
        "idle_in_transaction_session_timeout": _UNUSED_SECONDS * 1000,
        "timezone": "UTC",
    }
    arguments = {
        "application_name": "touchpoint",
        "connect_timeout": _CONNECT_SECONDS,
        "tcp_user_timeout": _UNHEARD_SECONDS * 1000,
        "options": " ".join(f"-c {name}={value}" for name, value in rules.items()),
        "sslmode": settings.sslmode,
        **({"sslrootcert": str(settings.sslrootcert)} if settings.sslrootcert else {}),
    }
    user, password = settings.account
    address = sa.URL.create(
        "postgresql+psycopg", user, password, settings.host, settings.port, settings.database
    )
    return create_async_engine(
        address,
        pool_size=size,
        max_overflow=0,
        pool_timeout=settings.busy_seconds,
        pool_pre_ping=True,
        connect_args=arguments,
        **options,
    )
