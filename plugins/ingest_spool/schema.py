"""The file: its tables, how they came to be, and how a connection to it is opened.

Ids of workspaces and keys are the 16 bytes of their uuid; times are microseconds, hours are hours
since 1970 in UTC. Indexes begin with what grows (``arrival_lane``, ``claim_age``), so a commit adds to
their last page; only claims are scattered, by nature.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

STEPS: Final = (
    """
    CREATE TABLE claim (
        workspace BLOB NOT NULL, event_id TEXT NOT NULL, claimed_at INTEGER NOT NULL,
        PRIMARY KEY (event_id, workspace)
    ) WITHOUT ROWID;
    CREATE INDEX claim_age ON claim (claimed_at);

    CREATE TABLE arrival (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        event_id TEXT NOT NULL, claimed INTEGER NOT NULL, received_at INTEGER NOT NULL, body BLOB NOT NULL,
        user_agent TEXT, address TEXT, headers TEXT
    );
    CREATE INDEX arrival_lane ON arrival (received_at, hour, workspace, key, channel);

    CREATE TABLE quarantine (
        seq INTEGER PRIMARY KEY,
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        event_id TEXT NOT NULL, claimed INTEGER NOT NULL, received_at INTEGER NOT NULL, body BLOB NOT NULL,
        user_agent TEXT, address TEXT, headers TEXT,
        reason TEXT NOT NULL
    );

    CREATE TABLE ledger (
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        received INTEGER NOT NULL DEFAULT 0, duplicate INTEGER NOT NULL DEFAULT 0,
        stored INTEGER NOT NULL DEFAULT 0, quarantined INTEGER NOT NULL DEFAULT 0,
        late INTEGER NOT NULL DEFAULT 0, bots INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (workspace, hour, key, channel)
    ) WITHOUT ROWID;

    CREATE TABLE rejection (
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        reason TEXT NOT NULL, events INTEGER NOT NULL,
        PRIMARY KEY (workspace, hour, key, channel, reason)
    ) WITHOUT ROWID;
    """,
)
"""Step n brings the file from ``PRAGMA user_version`` n to n + 1; steps are only ever added."""

_Connection = TypeVar("_Connection", bound=sqlite3.Connection)

_WAL_PAGES: Final = 8_000
"""Pages of 4 KiB in the log before a commit moves them to the main file: fewer rewrites of hot pages."""


def connect(path: Path, busy_seconds: float, kind: type[_Connection]) -> _Connection:
    """A connection whose every commit is on disk when it returns.

    It may be handed from one thread to another, but used by one at a time.

    Raises:
        sqlite3.Error: the file cannot be opened or is no spool.
    """
    connection = sqlite3.connect(
        path,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        factory=kind,
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        connection.execute("PRAGMA cache_size = -8192")
        connection.execute("PRAGMA temp_store = MEMORY")
        _upgrade(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: commits at the end, keeps nothing on any fault."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest form; two processes may try at once, one does the work."""
    if _version(connection) == len(STEPS):
        return
    with transaction(connection):
        for number, step in enumerate(STEPS[_version(connection) :], _version(connection) + 1):
            for statement in step.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
