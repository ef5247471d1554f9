"""A database in memory, for the rows of an earlier instant."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import uuid4

import sqlalchemy as sa

from plugins.workspace_sql.database import Database
from plugins.workspace_sql.schema import create_tables
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection, create_async_engine
from plugins.workspace_sql.write_locks import LockKey

_CONNECTIONS: Final = 5


class MemoryDatabase(Database):
    """An SQLite database that its connections share and that ends with the last of them. It is written before it is read."""

    def __init__(self) -> None:
        super().__init__()
        self._uri = f"file:{uuid4()}?mode=memory&cache=shared"
        self._kept_open: sqlite3.Connection | None = None

    async def start(self) -> None:
        """Creates the tables."""
        await self._open()
        async with self._write_transaction(()) as connection:
            await connection.run_sync(create_tables)

    async def aclose(self) -> None:
        """Closes the connections, and with them the database."""
        await super().aclose()
        if self._kept_open is not None:
            self._kept_open.close()

    async def check(self) -> None:
        """Returns: memory can be written."""

    async def has_tables(self) -> bool:
        """Returns False: it exists in this process only."""
        return False

    def change_version(self) -> int | None:
        """Returns None: nothing that is cached comes from it."""
        return None

    @asynccontextmanager
    async def _read_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._pooled_transaction() as connection:
            yield connection

    @asynccontextmanager
    async def _write_transaction(
        self,
        lock_keys: Sequence[LockKey],  # noqa: ARG002 - one task writes
        idempotency_digest: str | None = None,  # noqa: ARG002
        *,
        no_timeout: bool = False,  # noqa: ARG002
    ) -> AsyncIterator[AsyncConnection]:
        async with self._pooled_transaction() as connection:
            yield connection

    def _after_commit(self, change_version: int | None) -> None:
        """Returns: nothing is cached."""

    async def _open(self) -> None:
        self._kept_open = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        self._engine = create_async_engine(
            f"sqlite+aiosqlite:///{self._uri}&uri=true",
            poolclass=sa.AsyncAdaptedQueuePool,
            pool_size=_CONNECTIONS,
        )

    async def _start_counter(self) -> None:
        """Returns: there is no counter."""

    def _startup_message(self, reason: str) -> str:
        return f"The rows of an earlier instant cannot be kept in memory: {reason}."
