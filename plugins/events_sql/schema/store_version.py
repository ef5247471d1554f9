"""Checks the version of a store when it is opened."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from plugins.events_sql.schema.tables import EVENTS, STORE_VERSION, VERSION
from service_core.plugin import StartupError

INSERT_VERSION: Final = (
    f"INSERT INTO store_version SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM store_version)"  # noqa: S608 - a constant
)
"""Marks a new store as one of this version."""


def insert_recording_start_if_new() -> str:
    """Returns the statement that stores when a store was created, in whole seconds; it changes no older one."""
    now = datetime.now(UTC)
    return (
        f"INSERT INTO recording_starts SELECT CAST('{now:%Y-%m-%d %H:%M:%S}' AS TIMESTAMP) "  # noqa: S608 - a time
        "WHERE NOT EXISTS (SELECT 1 FROM recording_starts)"
    )


def has_current_store(fetch: Callable[[str], Sequence[Sequence[Any]]], schema_sql: str) -> bool:
    """Returns whether a schema holds the tables of a store of this version; False without any.

    Raises:
        StartupError: the tables are of another version.
    """
    require_new_store_or_current_version(fetch, schema_sql)
    return EVENTS.name in _table_names(fetch, schema_sql)


def _table_names(fetch: Callable[[str], Sequence[Sequence[Any]]], schema_sql: str) -> set[str]:
    listed = fetch(f"SELECT table_name FROM information_schema.tables WHERE table_schema = {schema_sql}")  # noqa: S608 - a constant
    return {row[0] for row in listed}


def require_new_store_or_current_version(
    fetch: Callable[[str], Sequence[Sequence[Any]]], schema_sql: str
) -> None:
    """Checks that a store is new or has the tables of this version.

    Args:
        fetch: runs a statement and returns all rows.
        schema_sql: SQL expression for the name of the schema or database that holds the tables.

    Raises:
        StartupError: the tables are of another version.
    """
    tables = _table_names(fetch, schema_sql)
    if EVENTS.name in tables:
        require_current_version(
            fetch("SELECT DISTINCT version FROM store_version") if STORE_VERSION.name in tables else []
        )


def require_current_version(stored: Sequence[Sequence[Any]]) -> None:
    """Checks the distinct rows of the table of the version; ClickHouse keeps one of each process that created the tables.

    Raises:
        StartupError: the store is of another version.
    """
    if [int(row[0]) for row in stored] != [VERSION]:
        raise StartupError(
            "The event store was written by another version of Touchpoint. Start the version that wrote it, export "
            "the events and import them into a new store, or copy them there with `touchpoint move`."
        )
