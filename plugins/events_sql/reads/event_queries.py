"""Reads event rows, event names, property keys and current visitors."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred
from plugins.events_sql.reads.property_keys import frequent_property_keys, to_property_key
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.relation_rows import EventRows
from plugins.events_sql.schema.row_mapping import row_to_event, to_naive_utc, to_utc
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import (
    CHARGE,
    COLUMNS,
    PAGE_VIEWS,
    ActiveVisitor,
    CustomPropertySummary,
    EventNameSummary,
    EventPageQuery,
    EventPageResult,
    QueryScope,
)

EVENT_COLUMNS = [EVENTS.c[f.name] for f in COLUMNS]
"""The columns of `Event`, in order."""
NEWEST_FIRST = (EVENTS.c.timestamp.desc(), EVENTS.c.seq.desc())


def scan_source(scan: QueryScope) -> tuple[sa.FromClause, list[Expression]]:
    """Returns the FROM clause and the conditions of the events of a scan."""
    rows = EventRows(scan, scan.span)
    met = [rows.condition(predicate) for predicate in scan.filters]
    return rows.source, [*rows.where, *met]


def events_at_positions(
    positions: Any, at: str, seq: str, workspace_id: UUID
) -> tuple[sa.FromClause, list[Expression]]:
    """Returns the FROM clause and the conditions of the events at given positions.

    Events are found by session, for which there is an index. Timestamps are compared as part of a row value, so
    that engines do not use an index on them.

    Args:
        positions: a small table of one workspace, with ``session_no``.
        at, seq: its columns with the timestamp and the sequence number of an event.
        workspace_id: the workspace.
    """
    c = EVENTS.c
    same = sa.tuple_(c.timestamp, c.seq) == sa.tuple_(positions.c[at], positions.c[seq])
    joined = EVENTS.join(positions, positions.c.session_no == c.session_no)
    return joined, [fn.RedundantCondition(c.workspace_id == workspace_id), same]


def list_events(plan: EventPageQuery, reader: StatementRunner) -> EventPageResult:
    """Returns a page of events, newest first: first the positions from an index, then the full rows."""
    total = reader.fetch_rows(deferred(_count_events, plan.scope))[0][0] if plan.count_total else None
    source, where = scan_source(plan.scope)
    older = [*where, _is_before(plan.after)] if plan.after else where
    place = (
        sa.select(EVENTS.c.timestamp, EVENTS.c.seq).select_from(source).where(*older).order_by(*NEWEST_FIRST)
    )
    found = reader.fetch_rows(place.limit(plan.limit + 1).offset(plan.offset))
    shown = found[: plan.limit]
    if not shown:
        return EventPageResult([], total, has_more=False)
    rows = (
        sa.select(*EVENT_COLUMNS)
        .select_from(source)
        .where(*older, *_is_between_events(shown[-1], shown[0]))
        .order_by(*NEWEST_FIRST)
    )
    return EventPageResult(
        [row_to_event(row) for row in reader.fetch_rows(rows)], total, has_more=len(found) > plan.limit
    )


def _count_events(scan: QueryScope) -> sa.Select[Any]:
    source, where = scan_source(scan)
    return sa.select(sa.func.count()).select_from(source).where(*where)


def _is_before(moment: tuple[datetime, int]) -> Expression:
    at, seq = sa.literal(to_naive_utc(moment[0])), sa.literal(moment[1])
    return sa.or_(EVENTS.c.timestamp < at, sa.and_(EVENTS.c.timestamp == at, EVENTS.c.seq < seq))


def _is_between_events(oldest: tuple[Any, ...], newest: tuple[Any, ...]) -> list[Expression]:
    """Returns the conditions that an event lies between two others, both included."""
    at, seq = EVENTS.c.timestamp, EVENTS.c.seq
    low, high = (sa.literal(oldest[0]), sa.literal(newest[0]))
    return [
        at >= low,
        at <= high,
        sa.or_(at > low, seq >= sa.literal(oldest[1])),
        sa.or_(at < high, seq <= sa.literal(newest[1])),
    ]


def list_event_names(scan: QueryScope, reader: StatementRunner) -> list[EventNameSummary]:
    """Returns event names with counts, most frequent first."""
    found = reader.fetch_rows(deferred(_event_names_query, scan))
    return [EventNameSummary(name, n, to_utc(first), to_utc(last)) for name, n, first, last in found]


def _event_names_query(scan: QueryScope) -> sa.Select[Any]:
    source, where = scan_source(scan)
    at = EVENTS.c.timestamp
    count = sa.func.count().label("n")
    told = sa.select(EVENTS.c.event_name, count, sa.func.min(at), sa.func.max(at)).select_from(source)
    return told.where(*where).group_by(EVENTS.c.event_name).order_by(count.desc(), EVENTS.c.event_name)


def list_property_keys(scan: QueryScope, limit: int, reader: StatementRunner) -> list[CustomPropertySummary]:
    """Returns the most frequent custom property keys of each event name."""
    return [to_property_key(row) for row in reader.fetch_rows(deferred(_property_keys_query, scan, limit))]


def _property_keys_query(scan: QueryScope, limit: int) -> sa.Select[Any]:
    return frequent_property_keys(*scan_source(scan), limit)


def current_visitors(
    scan: QueryScope, received_since: datetime, limit: int, reader: StatementRunner
) -> list[ActiveVisitor]:
    """Returns visitors with an event received since an instant, latest first."""
    source, where = scan_source(scan)
    where = [*where, EVENTS.c.received_at >= sa.literal(to_naive_utc(received_since))]
    by_visitor: Any = {"partition_by": EVENTS.c.visitor_no}
    at = EVENTS.c.timestamp
    viewed = sa.case((name_in(EVENTS.c.event_name, PAGE_VIEWS), 1), else_=0)
    paid = _charges(scan)
    foreign = sa.and_(paid.c.missing_fx_rate, paid.c.amount > 0)
    joined = source.outerjoin(paid, sa.and_(paid.c.seq == EVENTS.c.seq, paid.c.timestamp == at))
    facts = sa.select(
        *EVENT_COLUMNS,
        sa.func.sum(viewed).over(**by_visitor).label("views"),
        sa.func.count().over(**by_visitor).label("n"),
        sa.func.coalesce(sa.func.sum(paid.c.amount).over(**by_visitor), 0).label("paid"),
        sa.func.count(sa.case((foreign, 1))).over(**by_visitor).label("foreign"),
        sa.func.min(at).over(**by_visitor).label("first_at"),
        sa.func.row_number().over(**by_visitor, order_by=NEWEST_FIRST).label("place"),
    )
    found = facts.select_from(joined).where(*where).subquery()
    latest = sa.select(found).where(found.c.place == 1)
    ordered = latest.order_by(found.c.timestamp.desc(), found.c.visitor_id).limit(limit)
    return [_to_live_visitor(row) for row in reader.fetch_rows(ordered)]


def _charges(scan: QueryScope) -> sa.FromClause:
    """Selects charges; repeated reports of an order count once."""
    money = PaymentRows(scan, scan.span)
    table = money.table
    worth = money.amount.label("amount"), money.has_no_rate.label("missing_fx_rate")
    columns = (table.c.seq, table.c.timestamp, *worth)
    return sa.select(*columns).where(*money.where, table.c.kind == CHARGE).subquery("paid")


def _to_live_visitor(row: tuple[Any, ...]) -> ActiveVisitor:
    latest = row_to_event(row[: len(EVENT_COLUMNS)])
    views, n, paid, foreign, first, _ = row[len(EVENT_COLUMNS) :]
    revenue = None if foreign else int(paid)
    return ActiveVisitor(latest, int(views), int(n), revenue, to_utc(first), latest.timestamp)


def event_time_bounds(workspace_id: UUID, reader: StatementRunner) -> tuple[datetime, datetime] | None:
    """Returns the timestamps of the first and last event, bots included; None without events."""
    at = EVENTS.c.timestamp
    own = sa.select(sa.func.min(at), sa.func.max(at)).where(EVENTS.c.workspace_id == workspace_id)
    first, last = reader.fetch_rows(own)[0]
    return None if first is None else (to_utc(first), to_utc(last))
