"""Noticing, within microseconds, that another process changed a key."""

import sqlite3
import time
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql.access_tables import CHANGE_COUNTER
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection

CACHE_SECONDS: Final = 0.005
"""How long an answer is given again: under load the question would cost more than all else of a look-up."""

_INCREMENT_REQUESTED: Final = "touchpoint advances"
_INCREMENT: Final = (
    sa.update(CHANGE_COUNTER).values(value=CHANGE_COUNTER.c.value + 1).returning(CHANGE_COUNTER.c.value)
)


class ChangeCounter:
    """Reads the change counter of the directory without a transaction per call.

    ``PRAGMA data_version`` answers from shared memory whether any other connection committed since
    the last call; only then is the counter read. Other tables of the file may change as they like.
    The connection only reads and waits for nobody.
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

    def current(self) -> int | None:
        """The counter as of the last commit, or of at most `CACHE_SECONDS` ago; None when it cannot be read."""
        present = time.monotonic()
        if present < self._fresh_until:
            return self._value
        self._fresh_until = present + CACHE_SECONDS
        try:
            self._read()
        except sqlite3.Error:
            self._version = self._value = None
        return self._value

    def _read(self) -> None:
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._value = self._connection.execute("SELECT value FROM change_counter").fetchone()[0]
            self._version = version

    def invalidate(self) -> None:
        """This process has written: the next question is asked in earnest."""
        self._fresh_until = 0.0

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def request_increment(connection: AsyncConnection) -> None:
    """Tell every process, with this commit, that what it remembers of keys is old."""
    connection.info[_INCREMENT_REQUESTED] = True


def reset_request(connection: AsyncConnection) -> None:
    """Forget what a transaction that failed wanted to tell."""
    connection.info.pop(_INCREMENT_REQUESTED, None)


async def commit_increment(connection: AsyncConnection) -> int | None:
    """Raise the counter if the transaction is to: last of all, because the one row is everybody's.

    Returns:
        The counter as it is with this commit; None when it stays.
    """
    if not connection.info.pop(_INCREMENT_REQUESTED, False):
        return None
    value: int = (await connection.execute(_INCREMENT)).scalar_one()
    return value
