"""The schema of the file, and its connections.

The arrivals of one commit are one row of ``batch``: written and removed at once, they cost a few
pages and no index. What a commit scatters are its claims alone, so a claim is as small as it can be.
Ids of workspaces and keys are uuids as text; times are microseconds, hours are hours since 1970 in UTC.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from plugins.ingest_spool.carrying import carry_over

SCHEMA_VERSION: Final = 2
"""``PRAGMA user_version`` of a file of this form; `carrying` brings an older one here."""

TABLES: Final = """
    CREATE TABLE batch (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        waiting INTEGER NOT NULL, lanes TEXT NOT NULL, arrivals TEXT NOT NULL, bodies BLOB NOT NULL
    );

    CREATE TABLE claim (id BLOB PRIMARY KEY, claimed_at INTEGER NOT NULL) WITHOUT ROWID;

    CREATE TABLE quarantine (
        seq INTEGER PRIMARY KEY,
        workspace TEXT NOT NULL, lane TEXT NOT NULL, arrival TEXT NOT NULL, body BLOB NOT NULL,
        reason TEXT NOT NULL
    );

    CREATE TABLE ledger (
        workspace TEXT NOT NULL, hour INTEGER NOT NULL, key TEXT NOT NULL, channel TEXT NOT NULL,
        received INTEGER NOT NULL DEFAULT 0, duplicate INTEGER NOT NULL DEFAULT 0,
        stored INTEGER NOT NULL DEFAULT 0, quarantined INTEGER NOT NULL DEFAULT 0,
        late INTEGER NOT NULL DEFAULT 0, bots INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (workspace, hour, key, channel)
    ) WITHOUT ROWID;

    CREATE TABLE rejection (
        workspace TEXT NOT NULL, hour INTEGER NOT NULL, key TEXT NOT NULL, channel TEXT NOT NULL,
        reason TEXT NOT NULL, events INTEGER NOT NULL,
        PRIMARY KEY (workspace, hour, key, channel, reason)
    ) WITHOUT ROWID
"""

_UPGRADE_TIMEOUT_MS: Final = 600_000
"""How long to wait while another process brings the file to the newest form."""

_WAL_PAGES: Final = 8_000
"""Pages of 4 KiB in the log before a commit moves them to the main file: fewer rewrites of hot pages."""


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Returns a connection whose commits are on disk when they return.

    It may be handed from one thread to another, but used by one at a time.

    Raises:
        sqlite3.Error: the file cannot be opened or is no spool.
    """
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        connection.execute("PRAGMA cache_size = -8192")
        connection.execute("PRAGMA temp_store = MEMORY")
        _upgrade(connection)
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * busy_seconds)}")
    except BaseException:
        connection.close()
        raise
    return connection


def check_readable(path: Path) -> None:
    """Reads the first page of a file, and leaves no file beside it.

    Raises:
        sqlite3.Error: it is no database.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        _schema_version(connection)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs a write transaction; an error rolls it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _upgrade(connection: sqlite3.Connection) -> None:
    """Upgrades the file to the newest schema version; two processes may try at once."""
    if _schema_version(connection) == SCHEMA_VERSION:
        return
    connection.execute(f"PRAGMA busy_timeout = {_UPGRADE_TIMEOUT_MS}")
    with transaction(connection):
        form = _schema_version(connection)
        if form == 0:
            _create_tables(connection)
        elif form == 1:
            carry_over(connection, _create_tables)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in TABLES.split(";"):
        connection.execute(statement)


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
