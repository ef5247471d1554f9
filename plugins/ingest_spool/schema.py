"""The schema of the file, and its connections.

The events of one commit are one row of ``batch``: written and removed at once, they cost a few pages and no
index. Only the claims of a commit are scattered over the file, so a claim is as small as possible.
Ids of workspaces and keys are uuids as text; times are microseconds, hours are hours since 1970 in UTC.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from service_core.plugin import StartupError

SCHEMA_VERSION: Final = 2
"""``PRAGMA user_version`` of a file with these tables; 0 is a new file, any other version is refused."""

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

_RETRY_SECONDS: Final = 0.02
_MAX_IDLE_LOG_BYTES: Final = 64_000_000
"""Bytes of the log that stay allocated after its pages moved to the main file."""
_KEPT_FREE_PAGES: Final = 2_000
_MAX_RETURNED_PAGES: Final = 2_000
"""Pages of 4 KiB that one acknowledgement gives back: moving them takes milliseconds."""
_WAL_PAGES: Final = 8_000
"""Pages of 4 KiB in the log before a commit moves them to the main file: fewer rewrites of hot pages."""


def open_or_create_spool(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Returns a connection whose commits are on disk when they return; creates the tables of a new file.

    It may be handed from one thread to another, but used by one at a time.

    Raises:
        StartupError: the file has the tables of another version.
        sqlite3.Error: the file cannot be opened or is no database.
    """
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        if not path.stat().st_size:  # later it would need to rewrite the file
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _enable_wal_retrying_while_locked(connection, busy_seconds)
        connection.execute(f"PRAGMA journal_size_limit = {_MAX_IDLE_LOG_BYTES}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        connection.execute("PRAGMA cache_size = -8192")
        connection.execute("PRAGMA temp_store = MEMORY")
        _create_tables_of_new_file(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_readable_sqlite_file(path: Path) -> None:
    """Checks the version of a file without creating another file beside it.

    Raises:
        StartupError: the file has the tables of another version.
        sqlite3.Error: it is no database.
    """
    # A log has newer pages than the file; without one SQLite would create it.
    options = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True)) as connection:
        _is_new_file(connection, path)


def check_version_of_open_file(connection: sqlite3.Connection, path: Path) -> None:
    """Checks that an open file still has the tables of this version.

    Raises:
        StartupError: another version has changed it.
    """
    _is_new_file(connection, path)


def return_free_pages(connection: sqlite3.Connection) -> None:
    """Gives the pages of removed events back to the file system, except those that the next events soon need.

    An error is ignored: what was committed before stays committed, and the next call gives the pages back.
    """
    with suppress(sqlite3.OperationalError):
        (free_pages,) = connection.execute("PRAGMA freelist_count").fetchone()
        if free_pages > _KEPT_FREE_PAGES:
            returned = min(free_pages - _KEPT_FREE_PAGES, _MAX_RETURNED_PAGES)
            # As a script: a statement without columns is stepped once, which gives one page back.
            connection.executescript(f"PRAGMA incremental_vacuum({returned})")


@contextmanager
def write_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs a write transaction; an error rolls it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _enable_wal_retrying_while_locked(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switches to write-ahead logging; SQLite does not wait for another process that does so."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _create_tables_of_new_file(connection: sqlite3.Connection, path: Path) -> None:
    """Creates the tables unless the file has them; two processes may try at once."""
    if _is_new_file(connection, path):
        with write_transaction(connection):
            if _is_new_file(connection, path):
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    # Reloads a schema that SQLite read before another process created the tables: a trigger would not notice.
    connection.execute("SELECT id FROM claim LIMIT 0")


def _is_new_file(connection: sqlite3.Connection, path: Path) -> bool:
    """Returns whether a file has no tables yet.

    Raises:
        StartupError: it has the tables of another version.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in {0, SCHEMA_VERSION}:
        raise StartupError(
            f"The ingest queue {path.name} was written by another version of Touchpoint. Start the version that wrote it "
            "until it has stored every event, or name another file in ingest.queue."
        )
    return version == 0
