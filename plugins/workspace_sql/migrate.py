"""Bringing a database to the newest schema: forward only, all or nothing, one process at a time."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

SCRIPTS: Final = Path(__file__).parent / "migrations"
PAUSE_SECONDS: Final = 0.02


def prepare(file: Path, busy_seconds: float) -> None:
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


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the caller's write transaction.

    The write lock is held before the present revision is read, so of two processes that start
    together the second finds nothing to do; a crash leaves the old schema.
    """
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
