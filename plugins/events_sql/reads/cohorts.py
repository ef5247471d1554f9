"""Evaluates retention and lifetime value: cohort sizes, activity and revenue by cohort and bucket."""

from collections import Counter
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.touches import first_touch_per_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.reads.active_sessions import (
    SESSION_INTERVALS,
    active_buckets_per_person,
    create_session_interval_tables,
)
from plugins.events_sql.relations.charges_and_refunds import (
    PaymentRows,
    any_provider_report,
    reads_payments_of_span_only,
)
from plugins.events_sql.relations.order_repeats import named_events_without_order_repeats
from plugins.events_sql.relations.relation_rows import (
    PERSON,
    EventRows,
    conversions_once_per_order,
    span_conditions,
)
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql.conditions import Expression, comparable_column, predicate_condition
from plugins.events_sql.sql.time_buckets import bucket_index
from plugins.events_sql.sql.time_spans import all_time_span
from plugins.events_sql.sql.value_counts import is_absent_or_text, text_or_null
from service_core.plugin import CHARGE, CohortActivity, CohortReaderQuery, CohortResult, Column, TimeRange

_COHORT_MEMBERS: Final = sa.table(
    "cohort_members", *(sa.column(name, sa.BigInteger) for name in ("person_no", "cohort"))
)
"""Temporary table of persons acquired in the span with the index of their cohort."""


def evaluate_cohorts(plan: CohortReaderQuery, runner: StatementRunner) -> CohortResult:
    """Returns cohort sizes, and activity and revenue by cohort and bucket."""
    runner.begin_snapshot()
    if not plan.by_conversion or plan.counts_any_activity:
        create_session_interval_tables(plan, runner, all_sessions=not plan.by_conversion)
    runner.create_temp_table(_COHORT_MEMBERS.name, deferred_statement(_members_acquired_in_span_query, plan))
    sizes = runner.fetch_rows(deferred_statement(_cohort_sizes))
    active, paid = (
        runner.fetch_rows(deferred_statement(_active_and_last_active_counts_query, plan)),
        runner.fetch_rows(
            deferred_statement(
                _net_revenue_by_cohort_and_bucket, plan, _may_be_paid_by_providers(plan, runner)
            )
        ),
    )
    return CohortResult(dict(sizes), _nonempty_cells_with_later_returns_by_cohort(plan, active, paid))


def _members_acquired_in_span_query(plan: CohortReaderQuery) -> sa.Select[Any]:
    first = first_acquisitions(plan)
    cohort = bucket_index(first.c.first_at, plan.acquisition.runs_of_equal_length())
    source, conditions = source_of_persons_acquired_in_span(
        plan, first, join_filtered_acquisition(plan, first)
    )
    statement = sa.select(first.c.person_no, cohort.label("cohort"))
    return statement.select_from(source).where(*conditions)


def join_filtered_acquisition(plan: CohortReaderQuery, first: sa.Subquery) -> Any:
    """Returns the persons, joined to an acquiring event where the plan has filters on it."""
    if not plan.acquisition_filters:
        return first
    return first.join(*acquiring_events_with_condition(plan, first))


def first_acquisitions(plan: CohortReaderQuery) -> sa.Subquery:
    """Selects persons with the instant of their first event, or conversion, of all time."""
    return _first_conversions(plan) if plan.by_conversion else _persons_first_seen()


def join_first_touch(plan: CohortReaderQuery, first: sa.Subquery, source: Any) -> tuple[Any, sa.Subquery]:
    """Returns a FROM clause with the first touch of each person, and the joined table."""
    touch = first_touch_per_person(plan.scope).subquery("came")
    return source.outerjoin(touch, touch.c.person_no == first.c.person_no), touch


def first_touch_conditions(plan: CohortReaderQuery, touch: sa.Subquery) -> list[Expression]:
    """Returns the conditions on the first touch."""
    return [
        predicate_condition(comparable_column(touch_column(touch, p.column)), p)
        for p in plan.first_touch_filters
    ]


def source_of_persons_acquired_in_span(
    plan: CohortReaderQuery, first: sa.Subquery, source: Any
) -> tuple[Any, list[Expression]]:
    """Returns a FROM clause and the conditions of the persons acquired in the span that meet the filters of first touches."""
    conditions = span_conditions(first.c.first_at, plan.scope.span)
    if not plan.first_touch_filters:
        return source, conditions
    source, touch = join_first_touch(plan, first, source)
    return source, [*conditions, *first_touch_conditions(plan, touch)]


def acquiring_events_with_condition(
    plan: CohortReaderQuery, first: sa.Subquery, column: Column | None = None
) -> tuple[sa.Subquery, Expression]:
    """Returns the events, or conversions, that meet the filters, and the condition that one acquired a person.

    Args:
        plan: the filters.
        first: the persons with the instant of acquisition.
        column: a column to select as ``value``; then events with a list or an object in it are left out.
    """
    scope = replace(plan.scope, filters=plan.acquisition_filters)
    table = conversions_once_per_order(scope, scope.span) if plan.by_conversion else EVENTS
    rows = EventRows(scope, scope.span, table)
    columns, conditions = [rows.person_no.label("person_no"), rows.at.label("at")], rows.scope_conditions()
    if column is not None:
        value = rows.predicate_value(column)
        columns.append(text_or_null(value).label("value"))
        conditions.append(is_absent_or_text(value))
    matching = sa.select(*columns).distinct().select_from(rows.source).where(*conditions)
    acquiring = matching.subquery("acquiring")
    return acquiring, sa.and_(
        acquiring.c.person_no == first.c.person_no, acquiring.c["at"] == first.c.first_at
    )


def _persons_first_seen() -> sa.Subquery:
    c = SESSION_INTERVALS.c
    return (
        sa.select(c.person_no, sa.func.min(c.first_at).label("first_at"))
        .group_by(c.person_no)
        .subquery("person_first")
    )


def _cohort_sizes() -> sa.Select[Any]:
    return sa.select(_COHORT_MEMBERS.c.cohort, sa.func.count()).group_by(_COHORT_MEMBERS.c.cohort)


def touch_column(touch: Any, column: Column) -> Expression:
    """Returns a column of a touch, or its first fallback that is set."""
    columns = [touch.c[part.name] for part in column.candidates]
    return columns[0] if len(columns) == 1 else sa.func.coalesce(*columns)


def _first_conversions(plan: CohortReaderQuery) -> sa.Subquery:
    rows = EventRows(plan.scope, all_time_span(), conversions_once_per_order(plan.scope, all_time_span()))
    number = rows.person_no
    first = sa.select(number.label("person_no"), sa.func.min(rows.at).label("first_at"))
    return first.select_from(rows.source).where(*rows.where).group_by(number).subquery("acquired")


def _active_and_last_active_counts_query(plan: CohortReaderQuery) -> sa.Select[Any]:
    """Selects persons by cohort and bucket, and how many of them never returned later."""
    active = active_buckets_per_person(plan) if plan.counts_any_activity else _active_buckets_by_event(plan)
    seen, m = active.subquery("seen"), _COHORT_MEMBERS.c
    last = sa.func.max(seen.c.bucket).over(partition_by=seen.c.person_no).label("last")
    counted = (
        sa.select(m.cohort, seen.c.bucket, last)
        .join_from(seen, _COHORT_MEMBERS, m.person_no == seen.c.person_no)
        .where(seen.c.bucket >= m.cohort)
        .subquery("met")
    )
    group, ended = (counted.c.cohort, counted.c.bucket), counted.c.bucket == counted.c.last
    return sa.select(*group, sa.func.count(), sa.func.count().filter(ended)).group_by(*group)


def _active_buckets_by_event(plan: CohortReaderQuery) -> sa.Select[Any]:
    """Selects persons with the buckets in which they have an event of the given names that meets the filters."""
    span = TimeRange(plan.activity.starts[0], plan.activity.end)
    rows = EventRows(replace(plan.scope, filters=plan.activity_filters), span)
    number, conditions = rows.person_no, rows.scope_conditions()
    bucket = bucket_index(rows.at, plan.activity.runs_of_equal_length())
    pairs = sa.select(number.label("person_no"), bucket.label("bucket")).distinct()
    return pairs.select_from(rows.source).where(
        *conditions, *named_events_without_order_repeats(plan.event_names, plan.scope, span)
    )


def _may_be_paid_by_providers(plan: CohortReaderQuery, runner: StatementRunner) -> bool:
    """Returns whether revenue providers report money in the buckets of activity; True where money of all time is read."""
    span = TimeRange(plan.activity.starts[0], plan.activity.end)
    return not reads_payments_of_span_only(plan.scope) or bool(
        runner.fetch_rows(any_provider_report(replace(plan.scope, span=span, filters=())))
    )


def _net_revenue_by_cohort_and_bucket(plan: CohortReaderQuery, may_be_of_providers: bool) -> sa.Select[Any]:
    """Selects net revenue by cohort and bucket in the scope's currency, and whether some is foreign."""
    span = TimeRange(plan.activity.starts[0], plan.activity.end)
    rows = PaymentRows(plan.scope, span, may_be_of_providers=may_be_of_providers)
    number = rows.distinct_key(PERSON)
    bucket = bucket_index(rows.at, plan.activity.runs_of_equal_length())
    net = sa.case((rows.table.c.kind == CHARGE, rows.amount), else_=-rows.amount)
    joined = rows.source.join(
        _COHORT_MEMBERS, sa.and_(_COHORT_MEMBERS.c.person_no == number, bucket >= _COHORT_MEMBERS.c.cohort)
    )
    columns = (_COHORT_MEMBERS.c.cohort, bucket.label("bucket"))
    return (
        sa.select(*columns, *rows.revenue_and_missing_rate_flag(net))
        .select_from(joined)
        .where(*rows.where)
        .group_by(*columns)
    )


def _nonempty_cells_with_later_returns_by_cohort(
    plan: CohortReaderQuery, active_rows: list[Any], revenue_rows: list[Any]
) -> list[CohortActivity]:
    """Returns the cells that are not empty, cohort by cohort."""
    seen = {(cohort, bucket): n for cohort, bucket, n, _ in active_rows}
    last = Counter({(cohort, bucket): n for cohort, bucket, _, n in active_rows})
    money = {
        (cohort, bucket): (int(revenue), bool(foreign)) for cohort, bucket, revenue, foreign in revenue_rows
    }
    cells = []
    for cohort in sorted({key[0] for key in (*seen, *money)}):
        cohort_cells = []
        returned = 0
        for bucket in reversed(range(cohort, len(plan.activity.starts))):
            returned += last[cohort, bucket]
            revenue, foreign = money.get((cohort, bucket), (0, False))
            cohort_cells.append(
                CohortActivity(cohort, bucket, seen.get((cohort, bucket), 0), returned, revenue, foreign)
            )
        cells += [c for c in reversed(cohort_cells) if c.returned or c.revenue or c.foreign_money]
    return cells
