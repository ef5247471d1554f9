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
from plugins.events_sql.schema.store_version import INSERT_VERSION, insert_recording_start_if_new
from plugins.events_sql.schema.tables import METADATA

_INDEXES: Final = {
    "id_numbers_by_number": "id_numbers (number)",
    "id_numbers_by_id": "id_numbers (id)",
    "sessions_of_visitor": "sessions (visitor_no)",
    "events_of_session": "events (session_no)",
    "events_of_order": "events (order_id)",
    "events_of_payment": "events (payment_id)",
    "events_of_message": "events (message_id)",
    "touch_candidates_of_session": "touch_candidates (session_no)",
    "visitor_id_pairs_of_visitor": "visitor_id_pairs (visitor_no)",
    "visitor_id_pairs_of_strong_id": "visitor_id_pairs (strong_no)",
    "email_digests_of_number": "email_digests (number)",
    "visitor_owners_of_visitor": "visitor_owners (visitor_no)",
}


def create_if_missing_statements(dialect: DefaultDialect) -> Iterator[str]:
    """Yields CREATE statements for everything that may be missing, in order."""
    for sequence in ("id_no", "session_no"):
        yield f"CREATE SEQUENCE IF NOT EXISTS {sequence}"
    for table in (*METADATA.sorted_tables, compaction.UNSORTED_ROWS):
        yield str(CreateTable(table, if_not_exists=True).compile(dialect=dialect))
    for name, place in _INDEXES.items():
        yield f"CREATE INDEX IF NOT EXISTS {name} ON {place}"
    yield INSERT_VERSION
    yield insert_recording_start_if_new()
