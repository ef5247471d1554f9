"""The change counter of a SQLite file: detects within microseconds that another process changed a key."""

import sqlite3
import time
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import CHANGE_COUNTER
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection

CACHE_SECONDS: Final = 0.005
"""How long a read value is returned again. Under load a read would cost more than the rest of a look-up."""

_INCREMENT_REQUESTED: Final = "touchpoint_increment_requested"
_INCREMENT: Final = (
    sa.update(CHANGE_COUNTER).values(value=CHANGE_COUNTER.c.value + 1).returning(CHANGE_COUNTER.c.value)
)


class ChangeCounter:
    """Reads the change counter of the database without a transaction per call.

    ``PRAGMA data_version`` tells from shared memory whether another connection committed since the last call; only then
    is the counter read. The connection is read-only and never waits for a lock.
    """

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=0,
        )
        self._version: int | None = None
        self._value: int | None = None
        self._fresh_until = 0.0

    def current_within_5_milliseconds(self) -> int | None:
        """Returns the counter, read at most `CACHE_SECONDS` ago; None if it cannot be read."""
        now = time.monotonic()
        if now < self._fresh_until:
            return self._value
        self._fresh_until = now + CACHE_SECONDS
        try:
            self._reread_if_database_changed()
        except sqlite3.Error:
            self._version = self._value = None
        return self._value

    def _reread_if_database_changed(self) -> None:
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._value = self._connection.execute("SELECT value FROM change_counter").fetchone()[0]
            self._version = version

    def invalidate(self) -> None:
        """Makes the next `current` read the counter, because this process has written."""
        self._fresh_until = 0.0

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def request_increment_at_commit(connection: AsyncConnection) -> None:
    """Marks the transaction to increase the counter at its commit, which invalidates the caches of all processes."""
    connection.info[_INCREMENT_REQUESTED] = True


def forget_increment_request(connection: AsyncConnection) -> None:
    """Removes the mark that a failed transaction left on the connection."""
    connection.info.pop(_INCREMENT_REQUESTED, None)


async def increment_if_requested(connection: AsyncConnection) -> int | None:
    """Increases the counter if the transaction requested it. Called last, because all writers share this row.

    Returns:
        The new value of the counter; None if it did not change.
    """
    if not connection.info.pop(_INCREMENT_REQUESTED, False):
        return None
    value: int = (await connection.execute(_INCREMENT)).scalar_one()
    return value
