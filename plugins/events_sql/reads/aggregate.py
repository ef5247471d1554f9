"""Evaluates totals, series and breakdowns in one statement: one scan per relation, ordered and limited in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.attribution_credits import create_credits_table, credits_table
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.shared_reads import is_same_value
from plugins.events_sql.execution.statement_cache import DeferredStatement, deferred_statement
from plugins.events_sql.reads.relation_scan import (
    BUCKET_COLUMN,
    RelationScan,
    RequiredCreditsTable,
    group_columns,
    holds_truth_values,
    is_duration,
)
from plugins.events_sql.reads.shared_payments import PaymentColumns, create_shared_payments_table
from plugins.events_sql.relations.charges_and_refunds import any_provider_report
from plugins.events_sql.relations.session_counts import is_countable_from_sessions
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import NamedSubquery
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.select_elements import ConstantText, GroupedSelect, UnionAll
from service_core.plugin import (
    AggregateQuery,
    AggregateResult,
    Aggregation,
    ColumnSort,
    Difference,
    Measure,
    Ratio,
    Relation,
    TimeRange,
    counts_items_instead_of_payments,
)

_GRID: Final = "grid"
_UNION: Final = "parts"
_GROUP_COUNT: Final = sa.func.count().over().label("groups")


def evaluate_aggregates(plans: Sequence[AggregateQuery], runner: StatementRunner) -> list[AggregateResult]:
    """Returns the grids of plans that `may_share_credit_or_payment_tables`; they share the tables of credits and payments."""
    required = [scan for plan in plans for scan in _required_credits_tables(plan)]
    runner.begin_snapshot()
    for _, tables in groupby(sorted(required, key=_trailing_days), key=_trailing_days):
        _create_shared_credits_table(plans[0], list(tables), runner)
    shared_payments = create_shared_payments_table(plans[0].scope, _needed_payment_columns(plans), runner)
    return [_evaluate_aggregate(plan, runner, shared_payments) for plan in plans]


def may_share_credit_or_payment_tables(first: AggregateQuery, second: AggregateQuery) -> bool:
    """Returns whether two plans count the credits of the same rule and scope, or no credits and the same payments."""
    if _reads_credits(first) or _reads_credits(second):
        return _read_same_credits(first, second)
    scopes = (replace(plan.scope, filters=()) for plan in (first, second))
    return bool(_needed_payment_columns([first]) and _needed_payment_columns([second])) and is_same_value(
        *scopes
    )


def _read_same_credits(first: AggregateQuery, second: AggregateQuery) -> bool:
    return (
        _reads_credits_of_span(first)
        and _reads_credits_of_span(second)
        and is_same_value((first.scope, first.credit), (second.scope, second.credit))
    )


def _reads_credits(plan: AggregateQuery) -> bool:
    return any(each.relation is Relation.CREDITS for each in _distinct_aggregations(plan))


def _needed_payment_columns(plans: Sequence[AggregateQuery]) -> list[PaymentColumns]:
    """Returns what each scan of the plans needs of the payments in their span."""
    scans = (scan for plan in plans for scan in _relation_scans(plan, _distinct_aggregations(plan)))
    return [columns for scan in scans if (columns := scan.needed_payment_columns()) is not None]


def _reads_credits_of_span(plan: AggregateQuery) -> bool:
    """Returns whether a plan counts credits, all of them in its span."""
    days = [
        aggregation.trailing_days
        for aggregation in _distinct_aggregations(plan)
        if aggregation.relation is Relation.CREDITS
    ]
    return plan.credit is not None and bool(days) and all(each is None for each in days)


def _create_shared_credits_table(
    plan: AggregateQuery, required: Sequence[RequiredCreditsTable], runner: StatementRunner
) -> None:
    """Creates the table of credits for statements that need it with or without first orders."""
    if plan.credit is not None:
        create_credits_table(
            credits_table(required[0].trailing_days),
            replace(plan.scope, span=required[0].span),
            plan.credit,
            runner,
            with_first_orders=any(table.with_first_orders for table in required),
        )


def _trailing_days(table: RequiredCreditsTable) -> int:
    return table.trailing_days or 0


def _required_credits_tables(plan: AggregateQuery) -> list[RequiredCreditsTable]:
    tables = (scan.required_credits_table() for scan in _relation_scans(plan, _distinct_aggregations(plan)))
    return [table for table in tables if table is not None]


def _may_count_provider_reports(
    plan: AggregateQuery, runner: StatementRunner, shared_payments: PaymentColumns | None
) -> bool:
    """Returns whether revenue providers report money that a plan counts; True without looking where it computes none of a span."""
    scans = _relation_scans(plan, _distinct_aggregations(plan), shared_payments=shared_payments)
    spans = [span for span in (scan.span_of_payments() for scan in scans) if span is not None]
    if not spans:
        return True
    covering = TimeRange(min(span.start for span in spans), max(span.end for span in spans))
    in_span = deferred_statement(any_provider_report, replace(plan.scope, span=covering, filters=()))
    return bool(runner.fetch_rows(in_span))


def _evaluate_aggregate(
    plan: AggregateQuery, runner: StatementRunner, shared_payments: PaymentColumns | None
) -> AggregateResult:
    aggregations = _distinct_aggregations(plan)
    may_be_of_providers = _may_count_provider_reports(plan, runner, shared_payments)
    statement = partial(
        aggregate_statement, may_be_of_providers=may_be_of_providers, shared_payments=shared_payments
    )
    result_rows = runner.fetch_rows(statement(plan))
    if not group_columns(plan):
        return _to_aggregate_result(
            plan, aggregations, result_rows, page_row_count=len(result_rows[plan.offset :][: plan.limit])
        )
    if not result_rows and plan.offset:
        first = runner.fetch_rows(statement(replace(plan, limit=1, offset=0)))
        return _to_aggregate_result(plan, aggregations, first, page_row_count=0)
    return _to_aggregate_result(plan, aggregations, result_rows, page_row_count=len(result_rows))


def aggregate_statement(
    plan: AggregateQuery, *, may_be_of_providers: bool = True, shared_payments: PaymentColumns | None = None
) -> DeferredStatement:
    """Returns the statement of a plan; arguments as in `RelationScan`."""
    return deferred_statement(_page_of_groups_query, plan, may_be_of_providers, shared_payments)


def _distinct_aggregations(plan: AggregateQuery) -> tuple[Aggregation, ...]:
    return tuple(
        dict.fromkeys(aggregation for measure in plan.measures for aggregation in measure.aggregations())
    )


def _relation_scans(
    plan: AggregateQuery,
    aggregations: Sequence[Aggregation],
    *,
    may_be_of_providers: bool = True,
    shared_payments: PaymentColumns | None = None,
) -> list[RelationScan]:
    """Returns the scans that evaluate the aggregations of a plan, one per relation, trailing days and kind of rows."""

    def scan_key(index: int) -> tuple[str, int, bool, bool]:
        aggregation = aggregations[index]
        return (
            aggregation.relation,
            aggregation.trailing_days or 0,
            is_countable_from_sessions(plan, aggregation),
            counts_items_instead_of_payments(plan, aggregation),
        )

    order = sorted(range(len(aggregations)), key=scan_key)
    return [
        RelationScan(plan, aggregations, list(indexes), may_be_of_providers, shared_payments)
        for _, indexes in groupby(order, key=scan_key)
    ]


def _groups_before_order_and_limit(
    plan: AggregateQuery, aggregations: Sequence[Aggregation], **options: Any
) -> NamedSubquery:
    """Returns all groups with the values of all aggregations, before order and limit; options as in `RelationScan`."""
    scans = _relation_scans(plan, aggregations, **options)
    parts = [scan.grouped_statement() for scan in scans]
    if len(parts) == 1:
        return NamedSubquery(parts[0], _GRID, parts[0].column_types)
    together, names = NamedSubquery(UnionAll(parts), _UNION, parts[0].column_types), group_columns(plan)
    sums = {
        f"m{i}": _sum_over_scans(i, is_duration(aggregation)) for i, aggregation in enumerate(aggregations)
    }
    summed = GroupedSelect({**{key: together.c[key] for key in names}, **sums}, together, (), len(names))
    return NamedSubquery(summed, _GRID, summed.column_types)


@cache
def _sum_over_scans(aggregation_index: int, in_seconds: bool) -> ConstantText:
    """Returns the sum of an aggregation over all scans."""
    if in_seconds:
        summed = sa.func.sum(sa.literal_column(f"{_UNION}.m{aggregation_index}", sa.Double))
        return ConstantText(sa.func.coalesce(summed, sa.literal_column("0.0", sa.Double)))
    return ConstantText(
        fn.IntegerOrZero(sa.func.sum(sa.literal_column(f"{_UNION}.m{aggregation_index}", sa.BigInteger)))
    )


@cache
def _sum_over_groups(aggregation_index: int, in_seconds: bool) -> sa.Label[Any]:
    """Returns the sum of an aggregation over all groups, repeated in each row."""
    kind = sa.Double if in_seconds else sa.BigInteger
    summed = sa.func.sum(sa.literal_column(f"{_GRID}.m{aggregation_index}", kind)).over()
    return ConstantText(summed if in_seconds else fn.IntegerOrZero(summed)).label(f"s{aggregation_index}")


def _page_of_groups_query(
    plan: AggregateQuery, may_be_of_providers: bool, shared_payments: PaymentColumns | None
) -> sa.Select[Any]:
    """Returns the ordered and limited groups; each row of a page repeats the number of groups and their sums."""
    aggregations, names, limit, offset = (
        _distinct_aggregations(plan),
        group_columns(plan),
        plan.limit,
        plan.offset,
    )
    rows = _groups_before_order_and_limit(
        plan, aggregations, may_be_of_providers=may_be_of_providers, shared_payments=shared_payments
    )
    column_list = ", ".join(
        f"{rows.name}.{name}" for name in (*names, *(f"m{i}" for i in range(len(aggregations))))
    )
    columns: list[Expression] = [sa.literal_column(column_list)]
    if names and (offset or limit is not None):
        columns.append(_GROUP_COUNT)
        columns += [
            _sum_over_groups(i, is_duration(aggregation)) for i, aggregation in enumerate(aggregations)
        ]
    given = [_order_expression(plan, aggregations, rows, sort) for sort in plan.order]
    rest = [rows.c[name].asc().nulls_last() for name in names]
    statement = sa.select(*columns).select_from(rows).order_by(*given, *rest)
    return statement if not names else statement.limit(limit).offset(offset or None)


def _order_expression(
    plan: AggregateQuery, aggregations: Sequence[Aggregation], rows: NamedSubquery, column_sort: ColumnSort
) -> sa.UnaryExpression[Any]:
    if column_sort.by == "bucket":
        value: Expression = rows.c[BUCKET_COLUMN]
    elif column_sort.by.startswith("d"):
        value = rows.c[column_sort.by]
        if column_sort.null_label is not None:
            is_text = not holds_truth_values(plan.dimensions[int(column_sort.by[1:])])
            text = value if is_text else sa.cast(value, sa.Text)
            value = sa.func.coalesce(text, sa.literal(column_sort.null_label))
    else:
        value = _measure_expression(plan.measures[int(column_sort.by[1:])], aggregations, rows)
    return (value.desc() if column_sort.descending else value.asc()).nulls_last()


def _is_float_in_sql(measure: Measure) -> bool:
    """Returns whether the values of a measure are fractions in SQL: durations, ratios and differences of them."""
    match measure:
        case Aggregation():
            return is_duration(measure)
        case Difference(minuend, subtrahend):
            return _is_float_in_sql(minuend) or _is_float_in_sql(subtrahend)
        case _:
            return True


def _measure_expression(
    measure: Measure, aggregations: Sequence[Aggregation], rows: NamedSubquery
) -> Expression:
    """Returns the value of a measure computed from its aggregations; NULL for a division by 0."""
    match measure:
        case Aggregation():
            aggregation: Expression = rows.c[f"m{aggregations.index(measure)}"]
            return aggregation
        case Difference(minuend, subtrahend):
            sides = [_measure_expression(side, aggregations, rows) for side in (minuend, subtrahend)]
            if _is_float_in_sql(minuend) != _is_float_in_sql(subtrahend):
                # ClickHouse subtracts no fraction from a wide integer.
                sides = [sa.cast(side, sa.Double) for side in sides]
            return sides[0] - sides[1]
        case Ratio(numerator, denominator, scale, complement):
            above = sa.cast(_measure_expression(numerator, aggregations, rows), sa.Double)
            below = sa.cast(
                sa.func.nullif(_measure_expression(denominator, aggregations, rows), 0), sa.Double
            )
            value = above / below * sa.literal(scale)
            return sa.literal(1) - value if complement else value
        case _:
            return sa.null()


def _to_aggregate_result(
    plan: AggregateQuery,
    aggregations: tuple[Aggregation, ...],
    result_rows: list[tuple[Any, ...]],
    page_row_count: int,
) -> AggregateResult:
    width = len(group_columns(plan))
    end = width + len(aggregations)
    starts = plan.buckets.starts if plan.buckets else ()
    rows = [
        (starts[row[0]], *row[1:end]) if plan.buckets else row[:end] for row in result_rows[:page_row_count]
    ]
    if result_rows and len(result_rows[0]) > end:
        return AggregateResult(rows, aggregations, result_rows[0][end], tuple(result_rows[0][end + 1 :]))
    sums = tuple(sum(row[i] for row in result_rows) for i in range(width, end))
    return AggregateResult(rows, aggregations, len(result_rows), sums)
