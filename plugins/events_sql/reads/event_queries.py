"""Reads event rows, event names, property keys and current visitors."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.reads.property_keys import frequent_property_keys_query, row_to_property_key
from plugins.events_sql.relations.charges_and_refunds import (
    PaymentRows,
    any_provider_report,
    reads_payments_of_span_only,
)
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
    Event,
    EventNameSummary,
    EventPageQuery,
    EventPageResult,
    QueryScope,
    StoredEventKey,
)

EVENT_COLUMNS = [EVENTS.c[f.name] for f in COLUMNS]
"""The columns of `Event`, in order."""
NEWEST_FIRST = (EVENTS.c.timestamp.desc(), EVENTS.c.seq.desc())


def source_and_conditions_of_scope(scope: QueryScope) -> tuple[sa.FromClause, list[Expression]]:
    """Returns the FROM clause and the conditions of the events of a scope."""
    rows = EventRows(scope, scope.span)
    conditions = rows.scope_conditions()
    return rows.source, conditions


def events_at_positions(
    positions: Any, timestamp_column: str, seq_column: str, workspace_id: UUID
) -> tuple[sa.FromClause, list[Expression]]:
    """Returns the FROM clause and the conditions of the events at given positions.

    Events are found by session, for which there is an index. Timestamps are compared as part of a row value, so
    that engines do not use an index on them.

    Args:
        positions: a small table of one workspace, with ``session_no``.
        timestamp_column, seq_column: its columns with the timestamp and the sequence number of an event.
        workspace_id: the workspace.
    """
    c = EVENTS.c
    same = sa.tuple_(c.timestamp, c.seq) == sa.tuple_(positions.c[timestamp_column], positions.c[seq_column])
    joined = EVENTS.join(positions, positions.c.session_no == c.session_no)
    return joined, [fn.RedundantCondition(c.workspace_id == workspace_id), same]


def find_events_by_id(
    workspace_id: UUID, event_ids: Collection[str], runner: StatementRunner
) -> list[StoredEventKey]:
    """Returns the stored events with these ids."""
    c = EVENTS.c
    texts = sa.ARRAY(sa.Text)
    ids = fn.Unnest(sa.cast(sa.literal(sorted(event_ids), texts), texts))
    wanted = sa.select(
        sa.type_coerce(ids, sa.Text).label("id")
    )  # a set: engines search an array for each row
    found = sa.select(c.event_id, c.seq, c.timestamp, c.source).where(
        c.workspace_id == workspace_id, c.event_id.in_(wanted)
    )
    return [
        StoredEventKey(event_id, seq, to_utc(at), source)
        for event_id, seq, at, source in runner.fetch_rows(found)
    ]


def list_events_newest_first(plan: EventPageQuery, runner: StatementRunner) -> EventPageResult:
    """Returns a page of events, newest first: first the positions from an index, then the full rows."""
    total = (
        runner.fetch_rows(deferred_statement(_count_events, plan.scope))[0][0] if plan.count_total else None
    )
    source, where = source_and_conditions_of_scope(plan.scope)
    older = [*where, _is_before(plan.after)] if plan.after else where
    position_query = (
        sa.select(EVENTS.c.timestamp, EVENTS.c.seq).select_from(source).where(*older).order_by(*NEWEST_FIRST)
    )
    positions_found = runner.fetch_rows(position_query.limit(plan.limit + 1).offset(plan.offset))
    page_positions = positions_found[: plan.limit]
    if not page_positions:
        return EventPageResult([], total, has_more=False)
    rows = (
        sa.select(*EVENT_COLUMNS)
        .select_from(source)
        .where(*older, *_between_events_inclusive(page_positions[-1], page_positions[0]))
        .order_by(*NEWEST_FIRST)
    )
    return EventPageResult(
        [row_to_event(row) for row in runner.fetch_rows(rows)],
        total,
        has_more=len(positions_found) > plan.limit,
    )


def _count_events(scope: QueryScope) -> sa.Select[Any]:
    source, where = source_and_conditions_of_scope(scope)
    return sa.select(sa.func.count()).select_from(source).where(*where)


def _is_before(moment: tuple[datetime, int]) -> Expression:
    at, seq = sa.literal(to_naive_utc(moment[0])), sa.literal(moment[1])
    return sa.or_(EVENTS.c.timestamp < at, sa.and_(EVENTS.c.timestamp == at, EVENTS.c.seq < seq))


def _between_events_inclusive(oldest: tuple[Any, ...], newest: tuple[Any, ...]) -> list[Expression]:
    """Returns the conditions that an event lies between two others, both included."""
    at, seq = EVENTS.c.timestamp, EVENTS.c.seq
    low, high = (sa.literal(oldest[0]), sa.literal(newest[0]))
    return [
        at >= low,
        at <= high,
        sa.or_(at > low, seq >= sa.literal(oldest[1])),
        sa.or_(at < high, seq <= sa.literal(newest[1])),
    ]


def list_event_names_by_frequency(scope: QueryScope, runner: StatementRunner) -> list[EventNameSummary]:
    """Returns event names with counts, most frequent first."""
    rows = runner.fetch_rows(deferred_statement(_event_name_counts_query, scope))
    return [EventNameSummary(name, n, to_utc(first), to_utc(last)) for name, n, first, last in rows]


def _event_name_counts_query(scope: QueryScope) -> sa.Select[Any]:
    source, where = source_and_conditions_of_scope(scope)
    at = EVENTS.c.timestamp
    count = sa.func.count().label("n")
    query = sa.select(EVENTS.c.event_name, count, sa.func.min(at), sa.func.max(at)).select_from(source)
    return query.where(*where).group_by(EVENTS.c.event_name).order_by(count.desc(), EVENTS.c.event_name)


def list_property_keys_by_event(
    scope: QueryScope, limit_per_event_name: int, runner: StatementRunner
) -> list[CustomPropertySummary]:
    """Returns the most frequent custom property keys of each event name."""
    return [
        row_to_property_key(row)
        for row in runner.fetch_rows(deferred_statement(_property_keys_query, scope, limit_per_event_name))
    ]


def _property_keys_query(scope: QueryScope, limit_per_event_name: int) -> sa.Select[Any]:
    return frequent_property_keys_query(*source_and_conditions_of_scope(scope), limit_per_event_name)


def list_active_visitors_latest_first(
    scope: QueryScope, received_since: datetime, limit: int, runner: StatementRunner
) -> list[ActiveVisitor]:
    """Returns visitors with a visit event received since an instant, latest first.

    Their revenue includes what revenue providers report under the visitor's id. Visitors are counted by a few columns;
    full rows are read only of the latest visit events.
    """
    runner.begin_snapshot()
    may_be_of_providers = not reads_payments_of_span_only(scope) or bool(
        runner.fetch_rows(deferred_statement(any_provider_report, replace(scope, filters=())))
    )
    charges = _charges_with_missing_rate_flag(scope, may_be_of_providers=may_be_of_providers)
    facts_query = _active_visitor_facts_query(scope, received_since, charges, limit)
    facts_by_position = {(at, seq): facts for at, seq, *facts in runner.fetch_rows(facts_query)}
    if not facts_by_position:
        return []
    latest_events = {
        (to_naive_utc(event.timestamp), event.seq): event
        for event in _read_events_at(list(facts_by_position), scope, runner)
    }
    return [_to_live_visitor(latest_events[position], facts) for position, facts in facts_by_position.items()]


def _active_visitor_facts_query(
    scope: QueryScope, received_since: datetime, paid: sa.FromClause, limit: int
) -> sa.Select[Any]:
    """Selects the position of the latest visit event of each visitor, and the counts and money of its events."""
    source, where = source_and_conditions_of_scope(scope)
    where = [*where, EVENTS.c.received_at >= sa.literal(to_naive_utc(received_since))]
    at, seq, is_visit = EVENTS.c.timestamp, EVENTS.c.seq, EVENTS.c.from_device
    viewed = sa.and_(is_visit, name_in(EVENTS.c.event_name, PAGE_VIEWS))
    foreign = sa.and_(paid.c.missing_fx_rate, paid.c.amount > 0)
    joined = source.outerjoin(paid, sa.and_(paid.c.seq == seq, paid.c.timestamp == at))
    latest_at = sa.func.max(at).filter(is_visit).label("latest_at")
    visitor_id = sa.func.max(EVENTS.c.visitor_id)
    query = sa.select(
        latest_at,
        fn.LatestBy(seq, at, seq, is_visit).label("latest_seq"),
        sa.func.count().filter(viewed).label("views"),
        sa.func.count().filter(is_visit).label("n"),
        sa.func.coalesce(sa.func.sum(paid.c.amount), 0).label("paid"),
        sa.func.count().filter(foreign).label("foreign"),
        sa.func.min(at).filter(is_visit).label("first_at"),
    )
    by_visitor = query.select_from(joined).where(*where).group_by(EVENTS.c.visitor_no)
    visited = by_visitor.having(sa.func.count().filter(is_visit) > 0)
    return visited.order_by(sa.desc(sa.func.max(at).filter(is_visit)), visitor_id).limit(limit)


def _read_events_at(
    positions: Sequence[tuple[datetime, int]], scope: QueryScope, runner: StatementRunner
) -> list[Event]:
    """Returns the events of a scope at given instants with given sequence numbers."""
    source, where = source_and_conditions_of_scope(scope)
    instants = [at for at, _ in positions]
    between = [
        EVENTS.c.timestamp >= sa.literal(min(instants)),
        EVENTS.c.timestamp <= sa.literal(max(instants)),
    ]
    numbers = fn.InArray(EVENTS.c.seq, sa.literal([seq for _, seq in positions], sa.ARRAY(sa.BigInteger)))
    query = sa.select(*EVENT_COLUMNS).select_from(source).where(*where, *between, numbers)
    return [row_to_event(row) for row in runner.fetch_rows(query)]


def _charges_with_missing_rate_flag(scope: QueryScope, *, may_be_of_providers: bool) -> sa.FromClause:
    """Selects charges; repeated reports of an order count once."""
    money = PaymentRows(scope, scope.span, may_be_of_providers=may_be_of_providers)
    table = money.table
    amounts = money.amount.label("amount"), money.has_no_rate.label("missing_fx_rate")
    columns = (table.c.seq, table.c.timestamp, *amounts)
    return sa.select(*columns).where(*money.where, table.c.kind == CHARGE).subquery("paid")


def _to_live_visitor(latest_event: Event, facts: Sequence[Any]) -> ActiveVisitor:
    views, events, paid, unconverted_charges, first_at = facts
    revenue = None if unconverted_charges else int(paid)
    return ActiveVisitor(
        latest_event, int(views), int(events), revenue, to_utc(first_at), latest_event.timestamp
    )


def event_time_range_with_bots(
    workspace_id: UUID, runner: StatementRunner
) -> tuple[datetime, datetime] | None:
    """Returns the timestamps of the first and last event, bots included; None without events."""
    at = EVENTS.c.timestamp
    query = sa.select(sa.func.min(at), sa.func.max(at)).where(EVENTS.c.workspace_id == workspace_id)
    first, last = runner.fetch_rows(query)[0]
    return None if first is None else (to_utc(first), to_utc(last))
