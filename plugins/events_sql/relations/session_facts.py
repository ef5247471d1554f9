"""Sessions of a scope: without bots, or with the events of bots and people merged into one row.

Events that no device sent, such as those of revenue providers, are part of no session.
"""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.relations.order_ids import materialized_cte
from plugins.events_sql.relations.order_repeats import repeated_order_reports
from plugins.events_sql.schema.tables import ENTRY_COLUMNS, ENTRY_PREFIX, EVENTS, SESSIONS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import (
    CONVERSION_NAMES,
    START,
    WORKSPACE,
    bind_parameters,
    compiled_source,
)
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import is_conversion, name_in
from plugins.events_sql.sql.time_spans import all_time_span, span_with_repeats
from service_core.plugin import PURCHASE_EVENTS, QueryScope, TimeRange

_MICROSECONDS_PER_SECOND = 1_000_000
_ENGAGED_SECONDS = 10


def _workspace_conditions(include_bots: bool) -> list[Expression]:
    conditions = [SESSIONS.c.workspace_id == WORKSPACE, SESSIONS.c.from_device]
    return conditions if include_bots else [*conditions, sa.not_(SESSIONS.c.is_bot)]


def session_entries(scope: QueryScope) -> sa.FromClause:
    """Returns the position and the stored columns of every session's entry event."""
    return compiled_source(_entry_event_per_session_query, scope.include_bots).as_subquery(
        "entry", workspace=scope.workspace_id
    )


def _entry_event_per_session_query(include_bots: bool) -> sa.Select[Any]:
    entry_columns = [SESSIONS.c[ENTRY_PREFIX + name] for name in ENTRY_COLUMNS]
    facts = (SESSIONS.c.session_no, SESSIONS.c.entry_at, SESSIONS.c.entry_seq)
    columns = [*facts, SESSIONS.c.exit_page, *entry_columns]
    if not include_bots:
        return sa.select(*columns).where(*_workspace_conditions(include_bots))
    merged = _sessions_merged_with_bot_rows()
    return sa.select(*(merged.c[c.name] for c in columns))


def _rank_in_session() -> Expression:
    return sa.func.row_number().over(
        partition_by=SESSIONS.c.session_no, order_by=(SESSIONS.c.first_at, SESSIONS.c.first_seq)
    )


def visitors_first_seen(scope: QueryScope) -> sa.FromClause:
    """Returns the timestamp of every visitor's first visit event, or of the first event of any kind without one."""
    return compiled_source(_visitors_first_seen_query, scope.include_bots).as_subquery(
        "visitor", workspace=scope.workspace_id
    )


def _visitors_first_seen_query(include_bots: bool) -> sa.Select[Any]:
    c = SESSIONS.c
    visit = sa.func.min(c.first_at).filter(c.from_device)
    first = sa.select(c.visitor_no, sa.func.coalesce(visit, sa.func.min(c.first_at)).label("first_at"))
    bots = [] if include_bots else [sa.not_(c.is_bot)]
    return first.where(c.workspace_id == WORKSPACE, *bots).group_by(c.visitor_no)


def session_facts(scope: QueryScope) -> sa.FromClause:
    """Returns sessions with duration, bounce, engagement and event counts; repeats of orders count as conversions."""
    shape = (scope.include_bots, scope.conversions.any_revenue)
    return compiled_source(_session_facts_query, *shape).as_subquery("visits", **bind_parameters(scope))


def sessions_with_repeats(scope: QueryScope, span: TimeRange) -> sa.FromClause:
    """Returns the sessions with an event that repeats an order, and whether they have a conversion or purchase besides.

    Args:
        scope: workspace, bots, and which events convert.
        span: the instants the sessions begin in; a session may go on after it.
    """
    read_span = span_with_repeats(TimeRange(span.start, all_time_span().end))
    shape = (scope.include_bots, scope.conversions.any_revenue)
    return compiled_source(_sessions_with_repeats_query, *shape).as_subquery(
        "with_repeats", **bind_parameters(scope, read_span)
    )


def _sessions_with_repeats_query(include_bots: bool, any_revenue: bool) -> sa.Select[Any]:
    c = EVENTS.c
    source = repeated_order_reports(any_revenue).as_subquery("repeated")
    repeats = materialized_cte(sa.select(source.c.seq), "repeats")
    in_time = (c.workspace_id == WORKSPACE, c.timestamp >= START)
    sessions = sa.select(c.session_no).where(*in_time, c.seq.in_(sa.select(repeats.c.seq)))
    columns = (c.session_no, c.seq, is_conversion(c, any_revenue_converts=any_revenue).label("converts"))
    bots = [] if include_bots else [sa.not_(c.is_bot)]
    events = (
        sa.select(*columns, name_in(c.event_name, PURCHASE_EVENTS).label("purchases"))
        .where(*in_time, *bots, c.from_device, c.session_no.in_(sessions))
        .subquery("of_sessions")
    )
    counts = events.c.seq.not_in(sa.select(repeats.c.seq))
    marked = sa.select(events, counts.label("counts")).subquery("marked")
    found = (
        _bool_or(sa.and_(marked.c.counts, sa.func.coalesce(marked.c[name], sa.false()))).label(name)
        for name in ("converts", "purchases")
    )
    return sa.select(marked.c.session_no, *found).group_by(marked.c.session_no)


def _session_facts_query(include_bots: bool, any_revenue: bool) -> sa.Select[Any]:
    table: Any = _sessions_merged_with_bot_rows() if include_bots else SESSIONS
    c = table.c
    lasted = fn.EpochMicroseconds(c.last_at) - fn.EpochMicroseconds(c.first_at)
    viewed = c.pageviews >= 1
    engaged = sa.and_(
        viewed,
        sa.or_(
            lasted >= _ENGAGED_SECONDS * _MICROSECONDS_PER_SECOND,
            c.pageviews >= 2,  # noqa: PLR2004 - 6.5
        ),
    )
    facts = sa.select(
        *(c[name] for name in ("session_no", "visitor_no", "visitor_id", "first_at", "first_seq")),
        *(c[ENTRY_PREFIX + name] for name in ENTRY_COLUMNS),
        *(c[name] for name in ("pageviews", "events", "has_cart", "has_purchase", "exit_page")),
        lasted.label("duration"),
        sa.and_(c.pageviews == 1, c.others == 0).label("bounced"),
        engaged.label("engaged_by_visit"),
        sa.and_(viewed, _has_conversion(c, any_revenue)).label("viewed_and_converted"),
    )
    return facts if include_bots else facts.where(*_workspace_conditions(include_bots))


def _has_conversion(columns: Any, any_revenue: bool) -> Expression:
    """Returns whether an event of the session converts; the stored names are those of people's events without tests."""
    has_conversion_name = fn.ArraysOverlap(columns.names, CONVERSION_NAMES)
    converted = sa.or_(has_conversion_name, columns.has_revenue) if any_revenue else has_conversion_name
    return sa.and_(sa.not_(columns.is_bot), converted)


def _sessions_merged_with_bot_rows() -> sa.FromClause:
    """Returns one row per session with the events of people and bots together; only people's events convert."""
    together: Any = {"partition_by": SESSIONS.c.session_no}
    people = sa.not_(SESSIONS.c.is_bot)
    merged = {
        "last_at": sa.func.max(SESSIONS.c.last_at).over(**together),
        **{
            name: sa.func.sum(SESSIONS.c[name]).over(**together) for name in ("events", "pageviews", "others")
        },
        **{name: _bool_or(SESSIONS.c[name]).over(**together) for name in ("has_cart", "has_purchase")},
        "has_revenue": _bool_or(sa.and_(people, SESSIONS.c.has_revenue)).over(**together),
        "names": sa.func.max(sa.case((people, SESSIONS.c.names))).over(**together),
        "is_bot": sa.func.bool_and(SESSIONS.c.is_bot, type_=sa.Boolean).over(**together),
    }
    columns = [merged[c.name].label(c.name) if c.name in merged else c for c in SESSIONS.columns]
    last_view = sa.func.max(SESSIONS.c.exit_at).over(**together).label("last_view_at")
    ranked = (
        sa.select(*columns, _rank_in_session().label("place"), last_view)
        .where(*_workspace_conditions(include_bots=True))
        .subquery()
    )
    return _first_rows_with_latest_exit_page(ranked.c).subquery("merged")


def _first_rows_with_latest_exit_page(ranked: Any) -> sa.Select[Any]:
    """Selects the first of the rows of each session, with the exit page of the row that has the last page view."""
    latest = sa.case((ranked.exit_at == ranked.last_view_at, ranked.exit_page))
    latest_by_session = sa.func.max(latest).over(partition_by=ranked.session_no).label("exit_page")
    columns = [latest_by_session if c.name == "exit_page" else c for c in ranked]
    numbered = sa.select(*columns).subquery()
    return sa.select(numbered).where(numbered.c.place == 1)


def _bool_or(condition: Expression) -> Any:
    """Returns whether any row meets a condition, with its type set, because predicates depend on the type."""
    return sa.func.bool_or(condition, type_=sa.Boolean)
