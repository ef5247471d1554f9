"""Generates events of any number with SQL: sessions of five events over a year, ten workspaces."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb import compaction
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import EVENTS

WORKSPACE = str(UUID(int=1))
"""The large workspace: 30 % of all events."""

PER_SESSION = 5
YEAR_SECONDS = 365 * 86_400
_NONE: Final[Mapping[str, str]] = {}

_SESSION = f"""
SELECT s, s % 10 < 3 AS is_large, (hash(s, 1) % 1000)::BIGINT AS luck, hash(s, 4) % ({YEAR_SECONDS} - 600) AS second,
  CASE WHEN s % 10 < 3 THEN 1 ELSE 2 + (hash(s, 2) % 9)::BIGINT END AS w, (hash(s, 3) % greatest({{visitors}}, 1))::BIGINT AS v
FROM range({{sessions}}) r(s)
"""

EVENT_EXPRESSIONS = {
    "event_id": "'e' || i",
    "event_name": "CASE WHEN k = 4 AND luck < 80 THEN 'purchase' WHEN k = 3 AND luck < 200 THEN 'add_to_cart'"
    " WHEN k = 2 AND luck % 4 = 0 THEN 'click' WHEN k = 1 AND known AND luck % 2 = 0 THEN '$identify'"
    " ELSE 'page_view' END",
    "timestamp": "happened",
    "received_at": "happened",
    "time_adjusted": "'none'",
    "visitor_id": "'visitor-' || md5((w * 100000000 + v)::VARCHAR)",
    "session_id": "'session-' || md5(s::VARCHAR)",
    "session_origin": "'client'",
    "source": "'web'",
    "sdk_name": "'touchpoint-js'",
    "sdk_version": "'1'",
    "attribution_source": "coalesce(csp_origin_or_scheme, '(direct)')",
    "attribution_medium": "coalesce(medium_of, '(none)')",
    "channel": "coalesce(channel_of, 'direct')",
    "attribution_carried": "false",
    "utm_source": "CASE WHEN medium_of = 'cpc' AND k = 0 THEN csp_origin_or_scheme END",
    "utm_medium": "CASE WHEN medium_of = 'cpc' AND k = 0 THEN medium_of END",
    "utm_campaign": "CASE WHEN medium_of = 'cpc' AND k = 0 THEN 'campaign-' || luck % 60 END",
    "page_url": "'https://shop.example/page/' || hash(i) % 400",
    "page_path": "'/page/' || hash(i) % 400",
    "page_title": "'Page ' || hash(i) % 400",
    "referrer_host": "CASE WHEN k = 0 AND medium_of = 'organic' THEN 'site' || luck % 90 || '.example' END",
    "landing_page": "'https://shop.example/page/' || hash(s) % 400",
    "revenue": "CASE WHEN k = 4 AND luck < 80 THEN 500 + (hash(i, 9) % 20000)::BIGINT END",
    "currency": "CASE WHEN k = 4 AND luck < 80 THEN 'USD' END",
    "order_id": "CASE WHEN k = 4 AND luck < 80 THEN 'order-' || i END",
    "device_type": "['desktop', 'mobile', 'mobile', 'tablet'][1 + luck % 4]",
    "browser": "['Chrome', 'Safari', 'Firefox', 'Edge'][1 + luck % 4]",
    "os": "['Windows', 'iOS', 'Android', 'macOS', 'Linux'][1 + luck % 5]",
    "language": "['en', 'de', 'fr'][1 + luck % 3]",
    "country": "['US', 'DE', 'FR', 'GB', 'NL', 'PL'][1 + luck % 6]",
    "city": "'City ' || luck % 200",
    "is_bot": "luck % 50 = 0",
    "bot_reasons": "'[]'",
    "is_test": "false",
    "event_data": """'{"plan":"p' || luck % 5 || '","price":' || luck || '}'""",
    "workspace_id": "CAST(format('00000000-0000-0000-0000-{:012x}', w) AS UUID)",
    "seq": "i",
    "strong_id": "CASE WHEN k = 1 AND known AND luck % 2 = 0 THEN 'user-' || md5((v // 2)::VARCHAR) END",
    "touchable": "k IN (0, 1) OR (k = 2 AND luck % 4 <> 0)",
    "from_device": "true",
    "own_source": "CASE WHEN k = 0 THEN csp_origin_or_scheme END",
    "own_medium": "CASE WHEN k = 0 THEN medium_of END",
    "own_channel": "CASE WHEN k = 0 THEN channel_of END",
    "campaign_in_url": "k = 0 AND medium_of = 'cpc'",
    "interactive": "true",
    "rules_version": "1",
    "recorded_at": "happened",
}

_HISTORY = """
CREATE OR REPLACE TEMP TABLE history AS
SELECT {columns} FROM (
  SELECT *, s * {per} + k AS i, TIMESTAMP '{end}' - to_seconds(({year} - second)::BIGINT) + to_seconds(k * 40) AS happened,
    hash(v, 7) % 4 = 0 AS known,
    CASE WHEN luck % 3 = 0 THEN 'google' WHEN luck % 3 = 1 THEN 'news' END AS csp_origin_or_scheme,
    CASE WHEN luck % 3 = 0 THEN 'cpc' WHEN luck % 3 = 1 THEN 'organic' END AS medium_of,
    CASE WHEN luck % 3 = 0 THEN 'paid_search' WHEN luck % 3 = 1 THEN 'organic_search' END AS channel_of
  FROM ({session}) CROSS JOIN range({per}) e(k)
  WHERE s >= {first} AND s < {last}
)
"""

_NUMBER_IDS_AND_INSERT: Final = (
    """
CREATE OR REPLACE TEMP TABLE history_ids AS
  SELECT DISTINCT workspace_id, 'v:' || visitor_id AS id FROM history
  UNION SELECT DISTINCT workspace_id, 'u:' || strong_id FROM history WHERE strong_id IS NOT NULL
  UNION SELECT DISTINCT workspace_id, 'v:' || distinct_id FROM history WHERE distinct_id IS NOT NULL
""",
    """
INSERT INTO id_numbers
  SELECT workspace_id, id, nextval('id_no') FROM history_ids ANTI JOIN id_numbers USING (workspace_id, id)
""",
    """
INSERT INTO events BY NAME
  SELECT h.*, v.number AS visitor_no, u.number AS strong_no, h.seq // 5 + 1 AS session_no FROM history h
  JOIN id_numbers v ON v.workspace_id = h.workspace_id AND v.id = 'v:' || h.visitor_id
  LEFT JOIN id_numbers u ON u.workspace_id = h.workspace_id AND u.id = 'u:' || h.strong_id
""",
)


async def generate_events(
    store: SqlEventStore,
    rows: int,
    end: datetime,
    session: str = _SESSION,
    columns: Mapping[str, str] = _NONE,
) -> None:
    """Inserts events up to an instant, with derived tables, sorted as `maintain` leaves them.

    Args:
        store: an empty store.
        rows: number of events.
        end: timestamp of the last event.
        session: SQL expression that identifies a session.
        columns: SQL expressions of event columns that differ from the default.
    """
    await store._engine.run_write_to_its_end(
        lambda writer: _write_events(writer, rows, end, session, {**EVENT_EXPRESSIONS, **columns})
    )
    await store.rebuild()
    [(stored,)] = await store._engine.run_write_to_its_end(
        lambda writer: writer.execute_text("SELECT count(*) FROM events")
    )
    expected = rows // PER_SESSION * PER_SESSION
    if stored != expected:
        raise RuntimeError(f"The store holds {stored:,} of the {expected:,} events that were to be measured.")
    months = "INSERT INTO unsorted_rows SELECT date_trunc('month', timestamp), 1 FROM events GROUP BY 1"
    await store._engine.run_write_to_its_end(lambda writer: writer.execute_text(months))
    await store._engine.run_write_to_its_end(
        lambda writer: compaction.sort_due_months_and_checkpoint(writer, min_appended_rows=1)
    )


def _write_events(
    writer: StatementRunner, rows: int, end: datetime, session: str, expressions: Mapping[str, str]
) -> None:
    sessions, size = rows // PER_SESSION, 200_000
    columns = [
        f"CAST({expressions.get(c.name, 'NULL')} AS {c.type.compile(dialect=DuckDialect())}) AS {c.name}"
        for c in EVENTS.columns
        if not c.name.endswith("_no")
    ]
    for first in range(0, sessions, size):
        text = _HISTORY.format(
            columns=", ".join(columns),
            session=session.format(sessions=sessions, visitors=rows // 30),
            per=PER_SESSION,
            end=f"{end:%Y-%m-%d}",
            year=YEAR_SECONDS,
            first=first,
            last=first + size,
        )
        writer.execute_text(text)
        for statement in _NUMBER_IDS_AND_INSERT:
            writer.execute_text(statement)
    writer.execute_text("SELECT max(nextval('session_no')) FROM range($1)", [sessions])
