"""Reads the units of a funnel that reached a step, or that dropped out before it."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.events_with_person import (
    EventPosition,
    EventWithPerson,
    instant_of_microsecond,
    read_events_with_person,
)
from plugins.events_sql.reads.funnels.funnel import (
    create_funnel_events_table_unless_empty,
    events_of_started_units,
    is_evaluated_in_sql,
)
from plugins.events_sql.reads.funnels.funnel_scan import scan_funnel
from plugins.events_sql.reads.funnels.funnel_sql import ordered_attempts_statement
from service_core.plugin import FunnelReaderQuery, FunnelStepUnit, FunnelStepUnitsQuery

_INT: Final = sa.BigInteger


class _Attempt(NamedTuple):
    """Microsecond and sequence number of the first event, number of steps reached, microsecond of the last of them."""

    t0: int
    seq: int
    depth: int
    last: int


def list_units_of_step_and_total(
    query: FunnelStepUnitsQuery, runner: StatementRunner
) -> tuple[list[FunnelStepUnit], int]:
    """Returns a page of the units of a step, latest start first, and the number of all."""
    runner.begin_snapshot()
    if not create_funnel_events_table_unless_empty(query.funnel, runner):
        return [], 0
    read_page = (
        _page_of_attempts_and_total_in_sql
        if is_evaluated_in_sql(query.funnel)
        else _page_of_scanned_attempts_and_total
    )
    page, total = read_page(query, runner)
    positions = [EventPosition(attempt.t0, attempt.seq) for attempt in page]
    firsts = read_events_with_person(query.funnel.scope, positions, runner)
    return [_to_funnel_unit(attempt, firsts[attempt.seq]) for attempt in page if attempt.seq in firsts], total


def _page_of_scanned_attempts_and_total(
    query: FunnelStepUnitsQuery, runner: StatementRunner
) -> tuple[list[_Attempt], int]:
    scan = scan_funnel(query.funnel, runner.fetch_rows(events_of_started_units(query.funnel)))
    attempts = [
        _Attempt(events[0].t, events[0].seq, len(events), events[-1].t)
        for events in scan.attempts
        if query.includes_depth(len(events))
    ]
    attempts.sort(reverse=True)
    return attempts[query.offset : query.offset + query.limit], len(attempts)


def _page_of_attempts_and_total_in_sql(
    query: FunnelStepUnitsQuery, runner: StatementRunner
) -> tuple[list[_Attempt], int]:
    table = _attempts_table(query.funnel)
    runner.create_temp_table(table.name, ordered_attempts_statement(query.funnel))
    c = table.c
    is_included = c.depth == query.step if query.dropped else c.depth > query.step
    (count,) = runner.fetch_rows(sa.select(sa.func.count()).select_from(table).where(is_included))
    page = sa.select(*c).where(is_included).order_by(c.t0.desc(), c.seq.desc())
    rows = runner.fetch_rows(page.limit(query.limit).offset(query.offset or None))
    return [_to_attempt(row) for row in rows], count[0]


def _attempts_table(plan: FunnelReaderQuery) -> sa.TableClause:
    """Returns the temporary table of the attempts (`ordered_attempts_statement`)."""
    steps = (f"t{k}" for k in range(1, len(plan.steps)))
    return sa.table("funnel_attempts", *(sa.column(name, _INT) for name in ("t0", "seq", "depth", *steps)))


def _to_attempt(row: tuple[Any, ...]) -> _Attempt:
    t0, seq, depth, *later = row
    return _Attempt(t0, seq, depth, (t0, *later)[depth - 1])


def _to_funnel_unit(attempt: _Attempt, first: EventWithPerson) -> FunnelStepUnit:
    return FunnelStepUnit(
        *first,
        attempt.depth,
        instant_of_microsecond(attempt.t0),
        instant_of_microsecond(attempt.last),
    )
