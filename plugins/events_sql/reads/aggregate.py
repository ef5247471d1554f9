"""Evaluates totals, series and breakdowns in one statement: one scan per relation, ordered and limited in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import DeferredStatement, deferred
from plugins.events_sql.reads.relation_scan import BUCKET_COLUMN, RelationScan, group_columns, is_duration
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
)

_GRID: Final = "grid"
_UNION: Final = "parts"
_GROUP_COUNT: Final = sa.func.count().over().label("groups")


def evaluate_aggregate(plan: AggregateQuery, reader: StatementRunner) -> AggregateResult:
    """Returns the grid of a plan."""
    leaves = _distinct_leaves(plan)
    found = reader.fetch_rows(aggregate_statement(plan))
    if not group_columns(plan):
        return _to_grid(plan, leaves, found, shown=len(found[plan.offset :][: plan.limit]))
    if not found and plan.offset:
        first = reader.fetch_rows(aggregate_statement(replace(plan, limit=1, offset=0)))
        return _to_grid(plan, leaves, first, shown=0)
    return _to_grid(plan, leaves, found, shown=len(found))


def aggregate_statement(plan: AggregateQuery) -> DeferredStatement:
    """Returns the statement of a plan."""
    return deferred(_page_query, plan)


def _distinct_leaves(plan: AggregateQuery) -> tuple[Aggregation, ...]:
    return tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.aggregations()))


def _grouped_query(plan: AggregateQuery, leaves: Sequence[Aggregation]) -> NamedSubquery:
    """Returns all groups with the values of all leaves, before order and limit."""

    def scan_of(index: int) -> tuple[str, int, bool]:
        leaf = leaves[index]
        return leaf.relation, leaf.trailing_days or 0, is_countable_from_sessions(plan, leaf)

    order = sorted(range(len(leaves)), key=scan_of)
    parts = [RelationScan(plan, leaves, list(own)).statement() for _, own in groupby(order, key=scan_of)]
    if len(parts) == 1:
        return NamedSubquery(parts[0], _GRID, parts[0].column_types)
    together, names = NamedSubquery(UnionAll(parts), _UNION, parts[0].column_types), group_columns(plan)
    sums = {f"m{i}": _sum_over_scans(i, is_duration(leaf)) for i, leaf in enumerate(leaves)}
    summed = GroupedSelect({**{key: together.c[key] for key in names}, **sums}, together, (), len(names))
    return NamedSubquery(summed, _GRID, summed.column_types)


@cache
def _sum_over_scans(i: int, seconds: bool) -> ConstantText:
    """Returns the sum of a leaf over all scans."""
    if seconds:
        summed = sa.func.sum(sa.literal_column(f"{_UNION}.m{i}", sa.Double))
        return ConstantText(sa.func.coalesce(summed, sa.literal_column("0.0", sa.Double)))
    return ConstantText(fn.BigIntOrZero(sa.func.sum(sa.literal_column(f"{_UNION}.m{i}", sa.BigInteger))))


@cache
def _sum_over_groups(i: int, seconds: bool) -> sa.Label[Any]:
    """Returns the sum of a leaf over all groups, repeated in each row."""
    kind = sa.Double if seconds else sa.BigInteger
    summed = sa.func.sum(sa.literal_column(f"{_GRID}.m{i}", kind)).over()
    return ConstantText(summed if seconds else fn.BigIntOrZero(summed)).label(f"s{i}")


def _page_query(plan: AggregateQuery) -> sa.Select[Any]:
    """Returns the ordered and limited groups; each row of a page repeats the number of groups and their sums."""
    leaves, names, limit, offset = _distinct_leaves(plan), group_columns(plan), plan.limit, plan.offset
    rows = _grouped_query(plan, leaves)
    shown = ", ".join(f"{rows.name}.{name}" for name in (*names, *(f"m{i}" for i in range(len(leaves)))))
    columns: list[Expression] = [sa.literal_column(shown)]
    if names and (offset or limit is not None):
        columns.append(_GROUP_COUNT)
        columns += [_sum_over_groups(i, is_duration(leaf)) for i, leaf in enumerate(leaves)]
    given = [_order_expression(plan, leaves, rows, sort) for sort in plan.order]
    rest = [rows.c[name].asc().nulls_last() for name in names]
    statement = sa.select(*columns).select_from(rows).order_by(*given, *rest)
    return statement if not names else statement.limit(limit).offset(offset or None)


def _order_expression(
    plan: AggregateQuery, leaves: Sequence[Aggregation], rows: NamedSubquery, sort: ColumnSort
) -> sa.UnaryExpression[Any]:
    if sort.by == "bucket":
        value: Expression = rows.c[BUCKET_COLUMN]
    elif sort.by.startswith("d"):
        column = rows.c[sort.by]
        value = column if sort.null_label is None else sa.func.coalesce(column, sa.literal(sort.null_label))
    else:
        value = _measure_expression(plan.measures[int(sort.by[1:])], leaves, rows)
    return (value.desc() if sort.descending else value.asc()).nulls_last()


def _measure_expression(measure: Measure, leaves: Sequence[Aggregation], rows: NamedSubquery) -> Expression:
    """Returns the value of a measure computed from its leaves; NULL for a division by 0."""
    match measure:
        case Aggregation():
            leaf: Expression = rows.c[f"m{leaves.index(measure)}"]
            return leaf
        case Difference(minuend, subtrahend):
            return _measure_expression(minuend, leaves, rows) - _measure_expression(subtrahend, leaves, rows)
        case Ratio(numerator, denominator, scale, complement):
            above = sa.cast(_measure_expression(numerator, leaves, rows), sa.Double)
            below = sa.cast(sa.func.nullif(_measure_expression(denominator, leaves, rows), 0), sa.Double)
            value = above / below * sa.literal(scale)
            return sa.literal(1) - value if complement else value
        case _:
            return sa.null()


def _to_grid(
    plan: AggregateQuery, leaves: tuple[Aggregation, ...], found: list[tuple[Any, ...]], shown: int
) -> AggregateResult:
    width = len(group_columns(plan))
    end = width + len(leaves)
    starts = plan.buckets.starts if plan.buckets else ()
    rows = [(starts[row[0]], *row[1:end]) if plan.buckets else row[:end] for row in found[:shown]]
    if found and len(found[0]) > end:
        return AggregateResult(rows, leaves, found[0][end], tuple(found[0][end + 1 :]))
    sums = tuple(sum(row[i] for row in found) for i in range(width, end))
    return AggregateResult(rows, leaves, len(found), sums)
