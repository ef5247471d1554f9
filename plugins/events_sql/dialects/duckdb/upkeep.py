"""Compaction: months whose rows lie unsorted are sorted by workspace and time again.

Sorted rows let a question of a small workspace skip most of the file. A month is sorted once enough
rows were appended to it, in one transaction; readers go on with what they see.
"""

from typing import Final

import sqlalchemy as sa

from plugins.events_sql.engine import Reader
from plugins.events_sql.writing import transactional

BACKLOG: Final = sa.Table(
    "backlog",
    sa.MetaData(),
    sa.Column("month", sa.DateTime),
    sa.Column("appended", sa.BigInteger),
)
"""How many rows of a month came unsorted; other engines keep their rows sorted themselves."""

ENOUGH: Final = 200_000
"""Rows appended to a month that are worth sorting it."""

_NOTE: Final = """
INSERT INTO backlog
  SELECT date_trunc('month', b.timestamp), count(*) FROM batch b JOIN numbers n ON n.row_no = b.row_no GROUP BY 1
"""
_DUE: Final = "SELECT month FROM backlog GROUP BY month HAVING sum(appended) >= $1 ORDER BY month"
_INSTANTS: Final = {"events": "timestamp", "sessions": "first_at", "candidates": "timestamp"}
"""The tables that are sorted, and the instant a row of each stands at."""


def note(writer: Reader) -> None:
    """Remember how many rows of which months a batch added."""
    writer.text(_NOTE)


def maintain(writer: Reader, enough: int = ENOUGH) -> None:
    """Sort the months that need it, oldest first, and fold the log into the file."""
    for (month,) in writer.text(_DUE, [enough]):
        with transactional(writer).transaction():
            for table, at in _INSTANTS.items():
                _sort(writer, table, f"{at} >= $1 AND {at} < $1 + INTERVAL 1 MONTH", month)
            writer.text("DELETE FROM backlog WHERE month = $1", [month])
    writer.text("CHECKPOINT")


def _sort(writer: Reader, table: str, of_month: str, month: object) -> None:
    order = f"workspace_id, {_INSTANTS[table]}"
    writer.text(
        f"CREATE OR REPLACE TEMP TABLE sorting AS FROM {table} WHERE {of_month} ORDER BY {order}", [month]
    )
    writer.text(f"DELETE FROM {table} WHERE {of_month}", [month])  # noqa: S608 - our own tables
    writer.text(f"INSERT INTO {table} FROM sorting")
    writer.text("DROP TABLE sorting")
