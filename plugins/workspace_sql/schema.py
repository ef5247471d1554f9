"""Creation of the tables, and the check that a database has the schema of this version."""

import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from plugins.workspace_sql import revenue_tables, row_history, tables  # noqa: F401 - their tables belong to the metadata
from plugins.workspace_sql.access_tables import CHANGE_COUNTER
from plugins.workspace_sql.records import METADATA
from service_core.plugin import StartupError

SCRIPTS: Final = Path(__file__).parent / "migrations"
RETRY_SECONDS: Final = 0.02
_VERSION_TABLE: Final = "alembic_version"
DATABASE_TABLES: Final = frozenset({CHANGE_COUNTER})
"""Tables that describe the database itself. Their rows are not content."""


class UnknownSchemaVersion(StartupError):
    """The database has the schema of another version of Touchpoint."""

    def __init__(self, present: str | None) -> None:
        super().__init__(
            f"The workspace store of storage.workspace has the schema {present} of another version of Touchpoint, and "
            f"this version reads {_newest_version()} only. Run the version that wrote it, export what you need with "
            "that version, and import it into a new store of this version; stores of one version are moved by "
            "`touchpoint move`."
        )


def enable_wal_retrying_while_locked(file: Path, busy_seconds: float) -> None:
    """Switches a database file to write-ahead logging. Several processes may do so at the same time.

    Raises:
        sqlite3.OperationalError: the file stayed locked for longer than ``busy_seconds``.
    """
    deadline = time.monotonic() + busy_seconds
    connection = sqlite3.connect(file, timeout=busy_seconds)
    try:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:  # SQLite does not wait for this lock
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return
    finally:
        connection.close()


def require_database_file_of_known_version(file: Path) -> None:
    """Reads the version of a database file. No other file is created.

    Raises:
        UnknownSchemaVersion: no migration leads from it to this version.
        sqlite3.Error: the file is no database, or cannot be read.
    """
    # A log has newer pages than the file; without one SQLite would create it.
    options = "mode=ro" if file.with_name(f"{file.name}-wal").exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?{options}", uri=True)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            for (version,) in connection.execute("SELECT version_num FROM alembic_version"):
                _require_known(version)


def require_known_schema_version(connection: sa.Connection) -> None:
    """Checks that migrations lead from the schema of a database, if it has one, to that of this version.

    Raises:
        UnknownSchemaVersion: none do.
    """
    _require_known(_stored_schema_version(connection))


def _require_known(version: str | None) -> None:
    if version is not None and version not in _migration_versions():
        raise UnknownSchemaVersion(version)


def has_schema(file: Path) -> bool:
    """Returns whether an SQLite file exists and has a schema of Touchpoint.

    Raises:
        sqlite3.Error: it is no database, or cannot be read.
    """
    if not file.exists():
        return False
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_VERSION_TABLE,))
        return found.fetchone() is not None


def run_missing_migrations(connection: sa.Connection) -> None:
    """Runs the missing migrations in the transaction of the caller. A new database gets all tables.

    The caller holds the schema lock, so that of two processes that start together the second one finds
    nothing to do. A crash leaves the schema unchanged.

    Raises:
        UnknownSchemaVersion: no migration leads from the schema of the database to that of this version.
    """
    present = _stored_schema_version(connection)
    if present == _newest_version():
        return
    _require_known(present)
    # Most starts find nothing to do, and need not load Alembic.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as fault:
        raise UnknownSchemaVersion(present) from fault


def create_tables(connection: sa.Connection) -> None:
    """Creates all tables in an empty database."""
    METADATA.create_all(connection, checkfirst=False)


def _newest_version() -> str:
    return max(_migration_versions())


@cache
def _migration_versions() -> frozenset[str]:
    """Returns the versions that the migrations of this program lead through."""
    return frozenset(script.stem for script in (SCRIPTS / "versions").glob("[0-9]*.py"))


def _stored_schema_version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    version: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return version
