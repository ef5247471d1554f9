"""CREATE statements of a PostgreSQL schema: tables, indexes and three functions."""

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from plugins.events_sql.dialects.postgresql.compiler import PostgreSqlDialect, column_definition
from plugins.events_sql.schema.store_version import INSERT_VERSION, insert_recording_start_if_new
from plugins.events_sql.schema.tables import METADATA

UNICODE_COLLATIONS: Final = ("pg_c_utf8", "C.utf8", "und-x-icu", "en_US.utf8")
"""Collations with Unicode case mapping, the fastest first."""

SELECT_COLLATION: Final = """
SELECT collname FROM pg_collation WHERE collname = ANY($1) AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
ORDER BY array_position($1, CAST(collname AS TEXT)) LIMIT 1
"""

_INDEXES: Final = {
    "events_narrow": "events (workspace_id, timestamp, seq)"
    " INCLUDE (visitor_no, strong_no, session_no, event_name, is_bot, source)",
    "events_with_revenue": "events (workspace_id, timestamp) WHERE revenue IS NOT NULL",
    "events_by_id": "events (workspace_id, event_id)",
    "events_recorded_later": "events USING brin (received_at, recorded_at)",
    "events_of_session": "events (session_no, timestamp, seq)",
    "events_of_visitor": "events (visitor_no, timestamp)",
    "events_of_order": "events (order_id) WHERE order_id IS NOT NULL",
    "events_of_payment": "events (payment_id) WHERE payment_id IS NOT NULL",
    "events_of_message": "events (message_id) WHERE message_id IS NOT NULL",
    "events_with_identity_ids": "events (workspace_id) WHERE external_ids IS NOT NULL"
    " OR event_name = '$web_attribution_matched'",
    "sessions_in_time": "sessions (workspace_id, first_at)",
    "sessions_by_number": "sessions (session_no)",
    "sessions_of_visitor": "sessions (visitor_no)",
    "touch_candidates_in_time": "touch_candidates (workspace_id, timestamp)",
    "touch_candidates_of_session": "touch_candidates (session_no)",
    "touch_candidates_of_visitor": "touch_candidates (visitor_no)",
    "id_numbers_by_number": "id_numbers (number)",
    "reported_touches_of_workspace": "reported_touches (workspace_id)",
    "weak_links_of_visitor": "weak_links (visitor_no)",
    "weak_links_of_event": "weak_links (workspace_id, event_id)",
    "visitor_id_pairs_of_visitor": "visitor_id_pairs (visitor_no)",
    "visitor_id_pairs_of_strong_id": "visitor_id_pairs (strong_no)",
    "email_digests_of_number": "email_digests (number)",
    "email_digests_by_digest": "email_digests (workspace_id, digest)",
    "visitor_owners_of_visitor": "visitor_owners (visitor_no)",
    "visitor_owners_of_strong_id": "visitor_owners (strong_no)",
    "person_merges_by_number": "person_merges (workspace_id, number)",
    "person_merges_by_person": "person_merges (person_no)",
    "superseded_events_by_seq": "superseded_events (workspace_id, seq)",
    "event_versions_by_seq": "event_versions (workspace_id, seq)",
    "superseded_events_by_superseding": "superseded_events (workspace_id, superseded_by)",
}

_CREATE_FUNCTIONS: Final = """
CREATE OR REPLACE FUNCTION first_known(anyelement, anyelement) RETURNS anyelement
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1';
CREATE OR REPLACE AGGREGATE first_of(anyelement) (SFUNC = first_known, STYPE = anyelement, PARALLEL = SAFE);
CREATE OR REPLACE FUNCTION lowered(text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  'SELECT lower(translate($1, ''Σİ'', ''σi'') COLLATE "{unicode}") COLLATE "C"';
CREATE OR REPLACE FUNCTION spelled(text, text) RETURNS double precision
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 ~ $2 AND length($1) <= 300 AND $1 !~ '[eE][+-]?0*[1-9][0-9]{{3}}' THEN
      CASE WHEN abs(CAST($1 AS NUMERIC)) < 1e308 AND (abs(CAST($1 AS NUMERIC)) > 1e-300 OR CAST($1 AS NUMERIC) = 0)
        THEN CAST($1 AS DOUBLE PRECISION) END END
  $$
"""  # noqa: RUF001 - it is a sigma
"""``first_of``: the first value that is not NULL; ``lowered``: lower case in all scripts; ``spelled``: text to number.

Collations differ in the letters of ``translate``: some map them depending on the neighbouring letters.
"""


def create_if_missing_statements(
    schema: str, unicode_collation: str, dialect: PostgreSqlDialect
) -> Iterator[str]:
    """Yields CREATE statements for everything that may be missing, in order."""
    yield f"CREATE SCHEMA IF NOT EXISTS {schema}"
    yield from _CREATE_FUNCTIONS.format(unicode=unicode_collation).split(";\n")
    for sequence in ("id_no", "session_no"):
        yield f"CREATE SEQUENCE IF NOT EXISTS {sequence}"
    for table in METADATA.sorted_tables:
        yield f"CREATE TABLE IF NOT EXISTS {table.name} ({column_definitions(table, dialect)})"
    yield "CREATE UNIQUE INDEX IF NOT EXISTS id_numbers_by_id ON id_numbers (workspace_id, id)"
    for name, place in _INDEXES.items():
        yield f"CREATE INDEX IF NOT EXISTS {name} ON {place}"
    yield INSERT_VERSION
    yield insert_recording_start_if_new()


def column_definitions(table: sa.Table, dialect: PostgreSqlDialect) -> str:
    """Returns the column definitions of a table."""
    return ", ".join(column_definition(column, dialect) for column in table.columns)
