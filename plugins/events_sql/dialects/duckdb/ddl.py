"""CREATE statements of a DuckDB file: sequences, tables and indexes.

Indexes find the ids, sessions and events of a few persons. DuckDB uses an index for a few values of its only
column, also for values of a temporary table, where no other condition has one column only
(`functions.RedundantCondition`, `functions.UnindexedCondition`); reads of many rows scan the tables.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.schema import CreateTable

from plugins.events_sql.dialects.duckdb import compaction
from plugins.events_sql.schema.tables import ADDED, METADATA

_INDEXES: Final = {
    "ids_by_no": "ids (no)",
    "ids_by_text": "ids (id)",
    "sessions_of_visitor": "sessions (visitor_no)",
    "events_of_session": "events (session_no)",
    "events_of_order": "events (order_id)",
    "events_of_payment": "events (payment_id)",
    "events_of_message": "events (message_id)",
    "candidates_of_session": "candidates (session_no)",
    "kin_of_visitor": "kin (visitor_no)",
    "kin_by_strong_id": "kin (strong_no)",
    "mails_of_no": "mails (no)",
    "owners_of_visitor": "owners (visitor_no)",
}


def ddl_statements(dialect: DefaultDialect) -> Iterator[str]:
    """Yields CREATE statements for everything that may be missing, in order."""
    for sequence in ("id_no", "session_no"):
        yield f"CREATE SEQUENCE IF NOT EXISTS {sequence}"
    for table in (*METADATA.sorted_tables, compaction.UNSORTED_ROWS):
        yield str(CreateTable(table, if_not_exists=True).compile(dialect=dialect))
    for column in ADDED:
        kind = column.type.compile(dialect=dialect)
        yield f"ALTER TABLE events ADD COLUMN IF NOT EXISTS {column.name} {kind}"
    for name, place in _INDEXES.items():
        yield f"CREATE INDEX IF NOT EXISTS {name} ON {place}"
