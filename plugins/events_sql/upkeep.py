"""Compaction: months whose rows lie unsorted are sorted by workspace and time again.

Sorted rows let a question of a small workspace skip most of the file. A month is sorted once enough
rows were appended to it, in one transaction; readers go on with what they see.
"""

from typing import Final

import duckdb

from plugins.events_sql.transactions import transaction

ENOUGH: Final = 200_000
"""Rows appended to a month that are worth sorting it."""

_DUE: Final = "SELECT month FROM backlog GROUP BY month HAVING sum(appended) >= $1 ORDER BY month"
_INSTANTS: Final = {"events": "timestamp", "sessions": "first_at", "candidates": "timestamp"}
"""The tables that are sorted, and the instant a row of each stands at."""


def maintain(cursor: duckdb.DuckDBPyConnection, enough: int = ENOUGH) -> None:
    """Sort the months that need it, oldest first, and fold the log into the file."""
    for (month,) in cursor.execute(_DUE, [enough]).fetchall():
        with transaction(cursor):
            for table, at in _INSTANTS.items():
                _sort(cursor, table, f"{at} >= $1 AND {at} < $1 + INTERVAL 1 MONTH", month)
            cursor.execute("DELETE FROM backlog WHERE month = $1", [month])
    cursor.execute("CHECKPOINT")


def _sort(cursor: duckdb.DuckDBPyConnection, table: str, of_month: str, month: object) -> None:
    order = f"workspace_id, {_INSTANTS[table]}"
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE sorting AS FROM {table} WHERE {of_month} ORDER BY {order}", [month]
    )
    cursor.execute(f"DELETE FROM {table} WHERE {of_month}", [month])  # noqa: S608 - our own tables
    cursor.execute(f"INSERT INTO {table} FROM sorting")
    cursor.execute("DROP TABLE sorting")
