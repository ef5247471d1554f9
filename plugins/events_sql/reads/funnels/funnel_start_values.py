"""Reads the most frequent values of a column among the events that start a funnel."""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.funnels.funnel import matches_step
from plugins.events_sql.relations.order_repeats import can_report_orders, repeated_order_seqs
from plugins.events_sql.relations.relation_rows import EventRows
from plugins.events_sql.sql.value_counts import (
    is_absent_or_text,
    most_frequent_values,
    text_or_null,
    to_value_counts,
)
from service_core.plugin import (
    ColumnValueCount,
    FunnelReaderQuery,
    FunnelStartValuesQuery,
    TimeRange,
)


def list_start_values(query: FunnelStartValuesQuery, runner: StatementRunner) -> list[ColumnValueCount]:
    """Returns the most frequent values of a column, each with the number of units that start with it."""
    span = query.funnel.scope.span
    end = min(span.end, query.funnel.now)
    if end <= span.start:
        return []
    pairs = _units_with_start_value(query, TimeRange(span.start, end))
    return to_value_counts(runner.fetch_rows(most_frequent_values(pairs, query.limit)))


def _units_with_start_value(query: FunnelStartValuesQuery, span: TimeRange) -> sa.Select[Any]:
    plan = query.funnel
    rows = EventRows(plan.scope, span)
    value = rows.predicate_value(query.column)
    unit = rows.table.c.session_no if plan.by_session else rows.person_no
    starts = sa.or_(*(matches_step(plan, k, rows) for k in plan.starting_steps))
    conditions = [*rows.scope_conditions(), starts, is_absent_or_text(value)]
    if plan.by_session:
        conditions.append(rows.table.c.from_device)
    if can_report_orders(_starting_names(plan), plan.scope.conversions):
        repeats = repeated_order_seqs(replace(plan.scope, filters=()), span)
        conditions.append(rows.table.c.seq.not_in(repeats))
    selected = sa.select(unit.label("unit"), text_or_null(value).label("value"))
    return selected.distinct().select_from(rows.source).where(*conditions)


def _starting_names(plan: FunnelReaderQuery) -> frozenset[str]:
    return frozenset().union(*(plan.steps[k] for k in plan.starting_steps))
