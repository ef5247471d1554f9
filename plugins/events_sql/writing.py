"""Append: a batch becomes rows, and every cache follows in the same transaction.

Runs in the writer thread only. A replayed batch adds nothing: rows whose (workspace, event id) is
stored within seven days of receipt are left out before anything else is looked at.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import duckdb
from sqlalchemy.schema import CreateTable

from plugins.events_sql import caches
from plugins.events_sql.dialects.duckdb import DuckDialect
from plugins.events_sql.persons import EMAIL_MATCH, refresh_persons
from plugins.events_sql.tables import META
from plugins.events_sql.transactions import transaction
from service_core.plugin import COLUMNS, Event

_WEEK: Final = "INTERVAL 7 DAYS"
_FACTS: Final = ", ".join(f.name for f in COLUMNS)
_OWN: Final = ", ".join(f"b.{f.name}" for f in COLUMNS if f.name != "workspace_id")

_FRESH: Final = f"""
CREATE OR REPLACE TEMP TABLE fresh AS
  SELECT row_no, CAST(workspace_id AS UUID) AS workspace_id, event_id, received_at, visitor_id, session_id,
    strong_id, NOT is_bot AND strong_id <> visitor_id AS is_link,
    CASE WHEN event_name = '$alias' AND NOT is_bot AND json_type(event_data, '$.previous_id') = 'VARCHAR'
      THEN json_extract_string(event_data, '$.previous_id') END AS previous_id,
    CASE WHEN {EMAIL_MATCH} AND NOT is_bot AND json_type(event_data, '$.web_visitor_id') = 'VARCHAR'
      THEN json_extract_string(event_data, '$.web_visitor_id') END AS web_visitor_id,
    NOT is_bot AND (external_ids IS NOT NULL OR {EMAIL_MATCH}) AS carries
  FROM batch
  WINDOW w AS (PARTITION BY workspace_id, event_id ORDER BY received_at, seq)
  QUALIFY coalesce(received_at - lag(received_at) OVER w >= {_WEEK}, true)
"""  # noqa: S608 - text of our own

_KNOWN: Final = f"""
DELETE FROM fresh WHERE rowid IN (
  SELECT f.rowid FROM fresh f JOIN (
    SELECT workspace_id, event_id, received_at FROM events
    WHERE received_at > (SELECT min(received_at) - {_WEEK} FROM fresh)
      AND received_at < (SELECT max(received_at) + {_WEEK} FROM fresh)
  ) e ON e.workspace_id = f.workspace_id AND e.event_id = f.event_id
     AND e.received_at > f.received_at - {_WEEK} AND e.received_at < f.received_at + {_WEEK}
)
"""  # noqa: S608 - text of our own

_NUMBERS: Final = """
CREATE OR REPLACE TEMP TABLE batch_ids AS
  SELECT w.workspace_id, w.id, coalesce(i.no, nextval('id_no')) AS no, i.no IS NULL AS is_new
  FROM (
    SELECT workspace_id, 'v:' || visitor_id AS id FROM fresh
    UNION SELECT workspace_id, 'u:' || strong_id FROM fresh WHERE strong_id IS NOT NULL
    UNION SELECT workspace_id, 'u:' || previous_id FROM fresh WHERE previous_id IS NOT NULL
    UNION SELECT workspace_id, 'v:' || web_visitor_id FROM fresh WHERE web_visitor_id IS NOT NULL
  ) w LEFT JOIN ids i USING (workspace_id, id);
INSERT INTO ids SELECT workspace_id, id, no FROM batch_ids WHERE is_new;
CREATE OR REPLACE TEMP TABLE visits AS
  SELECT v.visitor_no, v.session_id, coalesce(s.session_no, nextval('session_no')) AS session_no
  FROM (
    SELECT DISTINCT i.no AS visitor_no, f.session_id
    FROM fresh f JOIN batch_ids i ON i.workspace_id = f.workspace_id AND i.id = 'v:' || f.visitor_id
  ) v LEFT JOIN (
    SELECT visitor_no, session_id, any_value(session_no) AS session_no FROM sessions
    WHERE visitor_no IN (SELECT no FROM batch_ids) GROUP BY ALL
  ) s USING (visitor_no, session_id);
CREATE OR REPLACE TEMP TABLE numbers AS
  SELECT f.row_no, f.workspace_id, v.no AS visitor_no, s.no AS strong_no, k.session_no, f.is_link
  FROM fresh f
  JOIN batch_ids v ON v.workspace_id = f.workspace_id AND v.id = 'v:' || f.visitor_id
  LEFT JOIN batch_ids s ON s.workspace_id = f.workspace_id AND s.id = 'u:' || f.strong_id
  JOIN visits k ON k.visitor_no = v.no AND k.session_id = f.session_id
"""

NUMBERED: Final = (
    f"(SELECT {_OWN}, n.* EXCLUDE (row_no, is_link) FROM batch b JOIN numbers n ON n.row_no = b.row_no)"  # noqa: S608
)
"""The new rows of the batch, with their numbers."""

_EVENTS: Final = f"""
INSERT INTO events BY NAME SELECT * FROM {NUMBERED};
INSERT INTO backlog
  SELECT date_trunc('month', b.timestamp), count(*) FROM batch b JOIN numbers n ON n.row_no = b.row_no GROUP BY 1
"""  # noqa: S608 - text of our own

_SESSIONS: Final = f"""
CREATE OR REPLACE TEMP TABLE parts AS {caches.sessions_of(NUMBERED)};
CREATE OR REPLACE TEMP TABLE before AS SELECT s.* FROM sessions s SEMI JOIN parts p USING (session_no, is_bot);
DELETE FROM sessions s USING before b WHERE s.session_no = b.session_no AND s.is_bot = b.is_bot;
INSERT INTO sessions {caches.MERGED_SESSIONS}
"""  # noqa: S608 - text of our own

_CANDIDATES: Final = f"INSERT INTO candidates {caches.candidates_of(NUMBERED)}; {caches.NO_LONGER_FIRST}"

_OWNERS: Final = """
CREATE OR REPLACE TEMP TABLE relinked AS
  SELECT visitor_no FROM numbers WHERE is_link
  GROUP BY visitor_no
  HAVING min(strong_no) <> max(strong_no) OR (visitor_no, min(strong_no)) NOT IN (
    SELECT (visitor_no, min(strong_no)) FROM owners
    WHERE visitor_no IN (SELECT visitor_no FROM numbers)
    GROUP BY visitor_no HAVING min(strong_no) = max(strong_no))
"""
"""Visitors with a link in the batch that is not one more to the only person they ever had."""

_RELINK: Final = f"""
CREATE OR REPLACE TEMP TABLE links AS
  SELECT workspace_id, event_id, visitor_no, strong_no, visitor_id, strong_id, is_bot, timestamp, seq FROM events
  WHERE (SELECT count(*) FROM relinked) > 0 AND strong_no IS NOT NULL
    AND visitor_no IN (SELECT visitor_no FROM relinked);
DELETE FROM owners WHERE visitor_no IN (SELECT visitor_no FROM relinked);
INSERT INTO owners {caches.owners_of("links")}
"""  # noqa: S608 - text of our own


_RESTITCHED: Final = """
SELECT workspace_id FROM fresh WHERE previous_id IS NOT NULL OR carries
UNION SELECT workspace_id FROM events
  WHERE workspace_id IN (SELECT n.workspace_id FROM numbers n SEMI JOIN relinked USING (visitor_no))
    AND (external_ids IS NOT NULL OR event_name = '$web_attribution_matched')
"""
"""Workspaces whose persons may have changed: an alias, an external id, or a link among some that exist."""


def create(cursor: duckdb.DuckDBPyConnection) -> None:
    """Create what is not there yet."""
    for sequence in ("id_no", "session_no"):
        cursor.execute(f"CREATE SEQUENCE IF NOT EXISTS {sequence}")
    for table in META.sorted_tables:
        cursor.execute(str(CreateTable(table, if_not_exists=True).compile(dialect=DuckDialect())))


def append(cursor: duckdb.DuckDBPyConnection, events: Sequence[Event]) -> int:
    """Store what is new of a batch, in one transaction; the number of new rows."""
    from plugins.events_sql.batches import stream  # noqa: PLC0415 - see there

    cursor.register("batch", stream(events))
    with transaction(cursor):
        cursor.execute(_FRESH)
        cursor.execute(_KNOWN)
        new = int(cursor.execute("SELECT count(*) FROM fresh").fetchall()[0][0])
        if new:
            for text in (_NUMBERS, _EVENTS, _SESSIONS, _CANDIDATES, _OWNERS, _RELINK):
                cursor.execute(text)
            refresh_persons(cursor, [workspace for (workspace,) in cursor.execute(_RESTITCHED).fetchall()])
    return new


def revoke(cursor: duckdb.DuckDBPyConnection, workspace_id: UUID, event_id: str) -> None:
    """Remove the links an event made, now and should it come only later (semantics 5.9)."""
    with transaction(cursor):
        cursor.execute("INSERT INTO revoked VALUES ($1, $2)", [workspace_id, event_id])
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE relinked AS"
            " SELECT DISTINCT visitor_no FROM events WHERE workspace_id = $1 AND event_id = $2",
            [workspace_id, event_id],
        )
        cursor.execute(_RELINK)
        refresh_persons(cursor, [workspace_id])


def rebuild(cursor: duckdb.DuckDBPyConnection) -> None:
    """Compute every cache anew from the events; the answers stay the same."""
    with transaction(cursor):
        for cache, rows in caches.ALL.items():
            cursor.execute(f"DELETE FROM {cache}; INSERT INTO {cache} {rows}")  # noqa: S608 - our own tables
        cursor.execute("DELETE FROM persons")
        every = cursor.execute("SELECT DISTINCT workspace_id FROM ids").fetchall()
        refresh_persons(cursor, [workspace for (workspace,) in every])
