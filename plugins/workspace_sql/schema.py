"""Bringing a database to the newest schema: forward only, all or nothing, one process at a time."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

SCRIPTS: Final = Path(__file__).parent / "migrations"
PAUSE_SECONDS: Final = 0.02


class UnknownSchemaVersion(Exception):
    """The database has a schema these migrations do not lead to: a newer version wrote it."""


def enable_wal(file: Path, busy_seconds: float) -> None:
    """Put the file into WAL mode, once and for good; two processes may try at the same time.

    Raises:
        sqlite3.OperationalError: the file stayed locked for longer than ``busy_seconds``.
    """
    deadline = time.monotonic() + busy_seconds
    connection = sqlite3.connect(file, timeout=busy_seconds)
    try:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:  # SQLite does not wait for this lock by itself
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return
    finally:
        connection.close()


def require_database_file(file: Path) -> None:
    """Read the first page of a file, and leave nothing beside it.

    Raises:
        sqlite3.Error: it is no database, or must not be read.
    """
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("PRAGMA schema_version")


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the caller's write transaction.

    The write lock is held before the present revision is read, so of two processes that start
    together the second finds nothing to do; a crash leaves the old schema.
    """
    if _is_current(connection):
        return
    # Most starts find nothing to do, and need not load what does it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as fault:
        raise UnknownSchemaVersion(str(fault)) from fault


def _is_current(connection: Connection) -> bool:
    """Whether the database stands at the newest of the scripts, whose names begin with their revision."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    newest = max(script.name.partition("_")[0] for script in (SCRIPTS / "versions").glob("[0-9]*.py"))
    return bool(connection.scalar(text("SELECT version_num FROM alembic_version")) == newest)
