"""Noticing, within microseconds, that another process changed a key."""

import sqlite3
from pathlib import Path


class Generation:
    """Reads the change counter of the directory without a transaction per call.

    ``PRAGMA data_version`` answers from shared memory whether any other connection committed since
    the last call; only then is the counter read. Other tables of the file may change as they like.
    The connection only reads and waits for nobody.
    """

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        self._version: int | None = None
        self._value = 0

    def now(self) -> int:
        """The counter as of the last commit."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._value = self._connection.execute("SELECT value FROM access_generation").fetchone()[0]
            self._version = version
        return self._value

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
