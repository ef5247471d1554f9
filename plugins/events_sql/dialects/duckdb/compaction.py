"""Compaction: sorts months with many unsorted rows by workspace and time.

Sorted rows let reads of a small workspace skip most of the file. A month is sorted after enough rows were
appended to it, in one transaction; concurrent reads keep their snapshot.
"""

from typing import Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.writes.append import transactional_session

UNSORTED_ROWS: Final = sa.Table(
    "unsorted_rows",
    sa.MetaData(),
    sa.Column("month", sa.DateTime),
    sa.Column("appended", sa.BigInteger),
)
"""Rows of each month that were appended unsorted; other engines sort by themselves."""

COMPACTION_THRESHOLD: Final = 200_000
"""Appended rows of a month at which it is sorted."""

_INSERT_UNSORTED_ROWS: Final = """
INSERT INTO unsorted_rows
  SELECT date_trunc('month', b.timestamp), count(*) FROM batch b JOIN event_numbers n ON n.row_no = b.row_no GROUP BY 1
"""
_SELECT_DUE_MONTHS: Final = (
    "SELECT month FROM unsorted_rows GROUP BY month HAVING sum(appended) >= $1 ORDER BY month"
)
_SORTED_TABLES: Final = {"events": "timestamp", "sessions": "first_at", "touch_candidates": "timestamp"}
"""The tables that are sorted, and the timestamp column of each."""


def record_unsorted_rows(writer: StatementRunner) -> None:
    """Records how many rows of which months a batch added."""
    writer.execute_text(_INSERT_UNSORTED_ROWS)


def sort_due_months_and_checkpoint(
    writer: StatementRunner, min_appended_rows: int = COMPACTION_THRESHOLD
) -> None:
    """Sorts the months that exceed the threshold, oldest first, and writes a checkpoint."""
    for (month,) in writer.execute_text(_SELECT_DUE_MONTHS, [min_appended_rows]):
        with transactional_session(writer).exclusive_write_transaction():
            for table, at in _SORTED_TABLES.items():
                _rewrite_month_sorted(writer, table, f"{at} >= $1 AND {at} < $1 + INTERVAL 1 MONTH", month)
            writer.execute_text("DELETE FROM unsorted_rows WHERE month = $1", [month])
    writer.execute_text("CHECKPOINT")


def _rewrite_month_sorted(writer: StatementRunner, table: str, month_condition: str, month: object) -> None:
    order = f"workspace_id, {_SORTED_TABLES[table]}"
    writer.execute_text(
        f"CREATE OR REPLACE TEMP TABLE sorting AS FROM {table} WHERE {month_condition} ORDER BY {order}",
        [month],
    )
    writer.execute_text(f"DELETE FROM {table} WHERE {month_condition}", [month])  # noqa: S608 - our own tables
    writer.execute_text(f"INSERT INTO {table} FROM sorting")
    writer.execute_text("DROP TABLE sorting")
