"""Compaction: rows of a month sorted by workspace and time again, once enough arrived unsorted."""

from typing import Final

import duckdb

ENOUGH: Final = 200_000
"""Unsorted rows of a month that are worth sorting."""

_MONTHS: Final = """
SELECT date_trunc('month', timestamp) AS month, count(*) AS n FROM events
WHERE rowid > (SELECT coalesce(max(last_row), -1) FROM compacted) GROUP BY 1 HAVING n >= $1
"""


def maintain(cursor: duckdb.DuckDBPyConnection) -> None:
    """Sort the months that need it, one transaction each, and write the log into the file."""
    cursor.execute("CHECKPOINT")
