"""Reads the most frequent values of a column among the events, or first touches, that acquired persons."""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.active_sessions import create_session_interval_tables
from plugins.events_sql.reads.cohorts import (
    acquiring_events_with_condition,
    first_acquisitions,
    first_touch_conditions,
    join_filtered_acquisition,
    join_first_touch,
    source_of_persons_acquired_in_span,
    touch_column,
)
from plugins.events_sql.relations.relation_rows import span_conditions
from plugins.events_sql.sql.conditions import comparable_column
from plugins.events_sql.sql.value_counts import most_frequent_values, text_or_null, to_value_counts
from service_core.plugin import AcquisitionValuesQuery, ColumnValueCount


def list_acquisition_values(query: AcquisitionValuesQuery, runner: StatementRunner) -> list[ColumnValueCount]:
    """Returns the most frequent values, each with the number of persons it acquired."""
    runner.begin_snapshot()
    if not query.cohorts.by_conversion:
        create_session_interval_tables(query.cohorts, runner, all_sessions=True)
    pairs = (
        _persons_with_values_of_first_touch(query)
        if query.is_of_first_touch
        else _persons_with_values_of_acquiring_events(query)
    )
    return to_value_counts(runner.fetch_rows(most_frequent_values(pairs, query.limit)))


def _persons_with_values_of_acquiring_events(query: AcquisitionValuesQuery) -> sa.Select[Any]:
    plan, first = query.cohorts, first_acquisitions(query.cohorts)
    acquiring, acquired = acquiring_events_with_condition(plan, first, query.column)
    source, conditions = source_of_persons_acquired_in_span(plan, first, first.join(acquiring, acquired))
    statement = sa.select(first.c.person_no, acquiring.c.value)
    return statement.select_from(source).where(*conditions)


def _persons_with_values_of_first_touch(query: AcquisitionValuesQuery) -> sa.Select[Any]:
    plan, first = query.cohorts, first_acquisitions(query.cohorts)
    source, touch = join_first_touch(plan, first, join_filtered_acquisition(plan, first))
    conditions = [
        *span_conditions(first.c.first_at, plan.scope.span), *first_touch_conditions(plan, touch),
    ]  # fmt: skip
    value = text_or_null(comparable_column(touch_column(touch, query.column)))
    statement = sa.select(first.c.person_no, value.label("value")).distinct()
    return statement.select_from(source).where(*conditions)
