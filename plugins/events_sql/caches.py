"""The derived tables in DuckDB's words: how each follows from events, whole or a batch at a time.

A source is a table with the columns of ``events``: the batch just appended, or ``events`` itself.
The same text computes both, so an increment and a rebuild cannot drift apart.
"""

from typing import Final

from plugins.events_sql.tables import BEGINNING, CANDIDATES, END, ENTRY_COLUMNS, ENTRY_PREFIX, SESSIONS
from service_core.plugin import ADD_TO_CART, CAMPAIGN_COLUMNS, PAGE_VIEWS, PURCHASE, REFUND_EVENTS, UNPAID

_BEGINNING: Final = f"TIMESTAMP '{BEGINNING:%Y-%m-%d}'"
_END: Final = f"TIMESTAMP '{END:%Y-%m-%d}'"
_POSITION: Final = "(epoch_us(timestamp)::HUGEINT * 9223372036854775808 + seq)"
_OWN_ENTRY: Final = ", ".join(f"e.{name} AS {ENTRY_PREFIX}{name}" for name in ENTRY_COLUMNS)
_CAMPAIGN: Final = ", ".join(CAMPAIGN_COLUMNS)


def _among(names: frozenset[str]) -> str:
    return "event_name IN (" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"


_NO_SYSTEM: Final = f"(NOT starts_with(event_name, '$') OR {_among(PAGE_VIEWS)})"


def sessions_of(source: str) -> str:
    """One row per session and verdict of a source, in the order of the columns of ``sessions``."""
    return f"""
    SELECT {_columns("f", "e")} FROM (
      SELECT session_no, is_bot, any_value(workspace_id) AS workspace_id,
        any_value(visitor_no) AS visitor_no, any_value(visitor_id) AS visitor_id,
        any_value(session_id) AS session_id,
        min(timestamp) AS first_at, arg_min(seq, {_POSITION}) AS first_seq, max(timestamp) AS last_at,
        count(*) AS events, count(*) FILTER ({_among(PAGE_VIEWS)}) AS pageviews,
        count(*) FILTER (interactive AND {_NO_SYSTEM} AND NOT {_among(PAGE_VIEWS)}) AS others,
        bool_or({_among(ADD_TO_CART)}) AS has_cart, bool_or({_among(PURCHASE)}) AS has_purchase,
        bool_or(coalesce(revenue, 0) > 0 AND NOT is_test AND NOT {_among(UNPAID | REFUND_EVENTS)} AND {_NO_SYSTEM}) AS has_revenue,
        coalesce(list_sort(list(DISTINCT event_name) FILTER (NOT is_test)), []) AS names,
        arg_max([attribution_source, attribution_medium, channel], {_POSITION}) AS touch,
        max({_POSITION}) AS touch_at,
        arg_max([{_CAMPAIGN}], {_POSITION}) FILTER (coalesce({_CAMPAIGN}) IS NOT NULL) AS campaign,
        max({_POSITION}) FILTER (coalesce({_CAMPAIGN}) IS NOT NULL) AS campaign_at
      FROM {source} GROUP BY session_no, is_bot
    ) f JOIN {source} e
      ON e.session_no = f.session_no AND e.is_bot = f.is_bot AND e.timestamp = f.first_at AND e.seq = f.first_seq
    """  # noqa: S608 - names of our own tables


def _columns(facts: str, entry: str) -> str:
    own = (c.name for c in SESSIONS.columns if not c.name.startswith(ENTRY_PREFIX))
    return ", ".join([*(f"{facts}.{name}" for name in own), _OWN_ENTRY.replace("e.", f"{entry}.")])


_EARLIER: Final = "(b.session_no IS NULL OR (p.first_at, p.first_seq) < (b.first_at, b.first_seq))"
_MERGE: Final = {
    "last_at": "greatest(p.last_at, b.last_at)",
    "events": "p.events + coalesce(b.events, 0)",
    "pageviews": "p.pageviews + coalesce(b.pageviews, 0)",
    "others": "p.others + coalesce(b.others, 0)",
    "has_cart": "p.has_cart OR coalesce(b.has_cart, false)",
    "has_purchase": "p.has_purchase OR coalesce(b.has_purchase, false)",
    "has_revenue": "p.has_revenue OR coalesce(b.has_revenue, false)",
    "names": "CASE WHEN b.names IS NULL OR b.names = p.names THEN p.names"
    " ELSE list_sort(list_distinct(list_concat(p.names, b.names))) END",
    "touch": "CASE WHEN coalesce(b.touch_at > p.touch_at, false) THEN b.touch ELSE p.touch END",
    "touch_at": "greatest(p.touch_at, b.touch_at)",
    "campaign": "CASE WHEN coalesce(b.campaign_at > p.campaign_at, p.campaign_at IS NULL)"
    " THEN b.campaign ELSE p.campaign END",
    "campaign_at": "greatest(p.campaign_at, b.campaign_at)",
}


def _merged(name: str) -> str:
    if name in {"session_no", "is_bot", "workspace_id", "visitor_no", "visitor_id", "session_id"}:
        return f"p.{name}"
    return _MERGE.get(name, f"CASE WHEN p.is_first THEN p.{name} ELSE b.{name} END")


MERGED_SESSIONS: Final = f"""
    SELECT {", ".join(_merged(c.name) for c in SESSIONS.columns)}
    FROM (
      SELECT p.*, {_EARLIER} AS is_first
      FROM parts p LEFT JOIN before b USING (session_no, is_bot)
    ) p LEFT JOIN before b USING (session_no, is_bot)
"""  # noqa: S608 - names of our own columns
"""Sessions of a batch (``parts``) together with what was known of them (``before``)."""


def owners_of(source: str) -> str:
    """Who a visitor's events belong to from when on, by the links in a source (semantics 5.3).

    The first link covers everything before it too; a link to another person ends the one before.
    """
    return f"""
    SELECT workspace_id, visitor_no, strong_no,
      CASE WHEN lag(seq) OVER w IS NULL THEN {_BEGINNING} ELSE timestamp END AS since,
      CASE WHEN lag(seq) OVER w IS NULL THEN 0 ELSE seq END AS since_seq,
      coalesce(lead(timestamp) OVER w, {_END}) AS until, coalesce(lead(seq) OVER w, 0) AS until_seq
    FROM (
      SELECT workspace_id, visitor_no, strong_no, timestamp, seq FROM {source}
      WHERE strong_no IS NOT NULL AND strong_id <> visitor_id AND NOT is_bot
        AND (workspace_id, event_id) NOT IN (SELECT workspace_id, event_id FROM revoked)
      QUALIFY strong_no IS DISTINCT FROM lag(strong_no) OVER (PARTITION BY visitor_no ORDER BY timestamp, seq)
    ) WINDOW w AS (PARTITION BY visitor_no ORDER BY timestamp, seq)
    """  # noqa: S608 - names of our own tables


_MARKS: Final = ", ".join(("own_channel", "referral_channel", *CAMPAIGN_COLUMNS))
_CANDIDATE_COLUMNS: Final = ", ".join(c.name for c in CANDIDATES.columns)


def candidates_of(source: str) -> str:
    """Events that may make a touch (semantics 8): those with marks of their own, and the first of a session.

    A plain event after the first never makes one, so most page views are left out.
    """
    return f"""
    SELECT {_CANDIDATE_COLUMNS} FROM (
      SELECT *, row_number() OVER (PARTITION BY session_no ORDER BY timestamp, seq) AS place FROM {source}
      WHERE touchable AND NOT is_bot
    ) WHERE place = 1 OR coalesce({_MARKS}) IS NOT NULL
    """  # noqa: S608 - names of our own tables


NO_LONGER_FIRST: Final = f"""
DELETE FROM candidates WHERE rowid IN (
  SELECT row FROM (
    SELECT rowid AS row, coalesce({_MARKS}) IS NULL AS plain,
      row_number() OVER (PARTITION BY session_no ORDER BY timestamp, seq) AS place
    FROM candidates WHERE session_no IN (SELECT session_no FROM numbers)
  ) WHERE plain AND place > 1
)
"""  # noqa: S608 - names of our own columns
"""Plain candidates that a late event overtook."""

ALL: Final = {
    "sessions": sessions_of("events"),
    "candidates": candidates_of("events"),
    "owners": owners_of("events"),
}
"""Every table that follows from events alone, by name, as a statement."""
