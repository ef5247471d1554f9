"""Evaluates funnels: how many units of a span reach each step.

Ordered funnels are evaluated in SQL (`funnel_sql`). For the other orders the events between the steps matter,
so the events of units that started are scanned in Python (`funnel_scan`).
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.funnels.funnel_scan import FunnelScan, scan_funnel
from plugins.events_sql.reads.funnels.funnel_sql import funnel_events_table, ordered_funnel_statement
from plugins.events_sql.relations.order_repeats import can_report_orders, repeated_order_seqs
from plugins.events_sql.relations.relation_rows import EventRows, span_conditions
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import FunnelOrder, FunnelReaderQuery, FunnelResult, FunnelStep, TimeRange

_MICROSECONDS_PER_SECOND: Final = 1e6
_REPEATED_ORDERS: Final = sa.table("repeated_orders", sa.column("seq", sa.BigInteger))


def evaluate_funnel(plan: FunnelReaderQuery, runner: StatementRunner) -> FunnelResult:
    """Returns how many units reach each step, and how long it takes them."""
    if not create_funnel_events_table_unless_empty(plan, runner):
        return FunnelResult([FunnelStep(0, None, None) for _ in plan.steps], 0)
    if is_evaluated_in_sql(plan):
        (row,) = runner.fetch_rows(ordered_funnel_statement(plan))
        return _funnel_result_from_row(row)
    return _funnel_result_from_scan(plan, scan_funnel(plan, runner.fetch_rows(events_of_started_units(plan))))


def create_funnel_events_table_unless_empty(plan: FunnelReaderQuery, runner: StatementRunner) -> bool:
    """Creates the temporary table of the funnel events; returns whether the funnel can have any."""
    end = min(plan.now, plan.scope.span.end + plan.window + plan.now.resolution)
    if end <= plan.scope.span.start:
        return False
    read_span = TimeRange(plan.scope.span.start, end)
    has_repeats = _create_repeated_orders_table_if_any(plan, read_span, runner)
    runner.create_temp_table("funnel_events", _funnel_events_query(plan, read_span, has_repeats=has_repeats))
    return True


def is_evaluated_in_sql(plan: FunnelReaderQuery) -> bool:
    """Returns whether SQL evaluates the funnel, and not a scan in Python."""
    return plan.order is FunnelOrder.ORDERED and not _excludes_a_step(plan)


def events_of_started_units(plan: FunnelReaderQuery) -> sa.Select[Any]:
    """Selects the events of units that started, by unit and time."""
    table = funnel_events_table(len(plan.steps))
    started = sa.select(table.c.unit).where(table.c.starts)
    return sa.select(table).where(table.c.unit.in_(started)).order_by(table.c.unit, table.c.t, table.c.seq)


def _excludes_a_step(plan: FunnelReaderQuery) -> bool:
    """Returns whether an excluded event name is also a step."""
    return bool(plan.exclude and plan.exclude & frozenset().union(*plan.steps))


def _funnel_events_query(
    plan: FunnelReaderQuery, read_span: TimeRange, *, has_repeats: bool = False
) -> sa.Select[Any]:
    """Selects the funnel events: unit, instant, sequence number and which steps each matches (`funnel_events_table`).

    Args:
        plan: the funnel.
        read_span: the instants to read.
        has_repeats: whether to leave out reports that repeat an order.
    """
    rows = EventRows(plan.scope, read_span)
    names = frozenset().union(*plan.steps, plan.exclude or ())
    name = rows.table.c.event_name
    unit = rows.table.c.session_no if plan.by_session else rows.person_no
    in_steps = [matches_step(plan, k, rows) for k in range(len(plan.steps))]
    seen = [rows.cached_condition_joining_its_tables(predicate) for predicate in plan.scope.filters]
    is_first = sa.or_(*(in_steps[k] for k in plan.starting_steps))
    starts = sa.and_(is_first, *span_conditions(rows.at, plan.scope.span), *seen)
    columns: list[Expression] = [
        unit.label("unit"),
        fn.EpochMicroseconds(rows.at).label("t"),
        rows.table.c.seq,
        sa.func.coalesce(starts, sa.false()).label("starts"),
        (name_in(name, plan.exclude) if plan.exclude else sa.false()).label("excluded"),
        *(condition.label(f"in{k}") for k, condition in enumerate(in_steps)),
    ]
    statement = (
        sa.select(*columns)
        .select_from(rows.source)
        .where(*rows.where, rows.at < sa.literal(to_naive_utc(read_span.end)))
        .where(*([rows.table.c.from_device] if plan.by_session else []))
    )
    if has_repeats:
        statement = statement.where(rows.table.c.seq.not_in(sa.select(_REPEATED_ORDERS.c.seq)))
    return statement if plan.order is FunnelOrder.STRICT else statement.where(name_in(name, names))


def matches_step(plan: FunnelReaderQuery, index: int, rows: EventRows) -> Expression:
    """Returns whether an event has a name of a step and meets its conditions; never NULL."""
    conditions = map(rows.cached_condition_joining_its_tables, plan.conditions_of_step(index))
    matches = sa.and_(name_in(rows.table.c.event_name, plan.steps[index]), *conditions)
    return sa.func.coalesce(matches, sa.false()) if plan.conditions_of_step(index) else matches


def _create_repeated_orders_table_if_any(
    plan: FunnelReaderQuery, read_span: TimeRange, runner: StatementRunner
) -> bool:
    """Creates the temporary table of the reports that repeat an order; returns whether there are any."""
    names = frozenset().union(*plan.steps, plan.exclude or ())
    if plan.order is not FunnelOrder.STRICT and not can_report_orders(names, plan.scope.conversions):
        return False
    runner.create_temp_table(_REPEATED_ORDERS.name, repeated_order_seqs(plan.scope, read_span))
    return bool(runner.fetch_rows(sa.select(_REPEATED_ORDERS.c.seq).limit(1)))


def _funnel_result_from_row(row: tuple[Any, ...]) -> FunnelResult:
    steps = [FunnelStep(row[0], None, None)]
    for i in range(1, len(row) - 1, 3):
        count, middle, summed = row[i : i + 3]
        steps.append(
            FunnelStep(count, middle / _MICROSECONDS_PER_SECOND, summed / count / _MICROSECONDS_PER_SECOND)
            if count
            else FunnelStep(0, None, None)
        )
    return FunnelResult(steps, row[-1])


def _funnel_result_from_scan(plan: FunnelReaderQuery, result: FunnelScan) -> FunnelResult:
    steps = [FunnelStep(len(result.attempts), None, None)]
    return FunnelResult(
        [*steps, *(result.step_result(k) for k in range(1, len(plan.steps)))], result.open_count
    )
