"""Evaluates an aggregate plan: rows of the relations by bucket and dimensions, counted, ordered and limited."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from plugins.events_memory.relation_rows import RelationRow, is_in_span, relation_rows
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    AggregateQuery,
    AggregateResult,
    Aggregation,
    ColumnSort,
    Difference,
    Measure,
    Ratio,
    TimeRange,
    compute_trailing_span,
)

Number = int | float
Key = tuple[Any, ...]
"""Bucket start, if there are buckets, and dimension values."""


def evaluate_aggregate(plan: AggregateQuery, history: WorkspaceEvents) -> AggregateResult:
    """Returns the grid of a plan."""
    aggregations = tuple(
        dict.fromkeys(aggregation for measure in plan.measures for aggregation in measure.aggregations())
    )
    groups: dict[Key, list[list[RelationRow]]] = {}
    if plan.buckets is None and not plan.dimensions:
        groups[()] = [[] for _ in aggregations]
    for i, aggregation in enumerate(aggregations):
        for key, row in _rows_with_group_key(aggregation, plan, history):
            groups.setdefault(key, [[] for _ in aggregations])[i].append(row)
    result_rows = [
        (
            *key,
            *(
                _aggregate_rows(aggregation, rows)
                for aggregation, rows in zip(aggregations, group, strict=True)
            ),
        )
        for key, group in groups.items()
    ]
    width = (plan.buckets is not None) + len(plan.dimensions)
    _sort_rows_in_place(result_rows, plan, aggregations, width)
    end = None if plan.limit is None else plan.offset + plan.limit
    sums = tuple(sum(row[width + i] for row in result_rows) for i in range(len(aggregations)))
    return AggregateResult(result_rows[plan.offset : end], aggregations, len(result_rows), sums)


def _rows_with_group_key(
    aggregation: Aggregation, plan: AggregateQuery, history: WorkspaceEvents
) -> Iterator[tuple[Key, RelationRow]]:
    """Yields each row that an aggregation counts with its group; a trailing aggregation counts a row in several buckets."""
    rows = list(relation_rows(aggregation, plan, history))
    for bucket, row in _rows_in_span_with_bucket(aggregation, plan, rows):
        columns = (dimension.get(aggregation.relation) for dimension in plan.dimensions)
        values = tuple(None if column is None else row.value_or_first_fallback(column) for column in columns)
        yield ((*bucket, *values), row)


def _rows_in_span_with_bucket(
    aggregation: Aggregation, plan: AggregateQuery, rows: Iterable[RelationRow]
) -> Iterator[tuple[tuple[datetime, ...], RelationRow]]:
    span, buckets = plan.scope.span, plan.buckets
    if aggregation.trailing_days is not None:
        for bucket, part in _clipped_bucket_spans(plan):
            wide = compute_trailing_span(part, aggregation.trailing_days, plan.scope.zone)
            yield from ((bucket, row) for row in rows if is_in_span(wide, row.at))
        return
    for row in rows:
        if is_in_span(span, row.at):
            yield (
                (() if buckets is None else (buckets.starts[bisect_right(buckets.starts, row.at) - 1],)),
                row,
            )


def _clipped_bucket_spans(plan: AggregateQuery) -> Iterator[tuple[tuple[datetime, ...], TimeRange]]:
    """Yields each bucket cut to the span; the whole span when there are no buckets."""
    span = plan.scope.span
    if plan.buckets is None:
        yield (), span
        return
    for start, end in pairwise((*plan.buckets.starts, plan.buckets.end)):
        part = TimeRange(max(start, span.start), min(end, span.end))
        if part.start < part.end:
            yield (start,), part


def _aggregate_rows(aggregation: Aggregation, rows: list[RelationRow]) -> Number:
    if aggregation.column is None:
        return len(rows)
    values = [value for row in rows if (value := row.value_or_first_fallback(aggregation.column)) is not None]
    return len(set(values)) if aggregation.distinct else sum(values)


def _sort_rows_in_place(
    result_rows: list[tuple[Any, ...]],
    plan: AggregateQuery,
    aggregations: tuple[Aggregation, ...],
    key_column_count: int,
) -> None:
    """Sorts result rows in place by the order of the plan, then by bucket and dimensions; None is last in either direction."""
    for column in reversed(range(key_column_count)):
        _stable_sort_in_place_none_last(result_rows, [row[column] for row in result_rows], descending=False)
    for sort in reversed(plan.order):
        _stable_sort_in_place_none_last(
            result_rows,
            [_sort_value(row, sort, plan, aggregations, key_column_count) for row in result_rows],
            descending=sort.descending,
        )


def _stable_sort_in_place_none_last(
    result_rows: list[tuple[Any, ...]], sort_values: list[Any], *, descending: bool
) -> None:
    """Sorts rows in place by one value each, keeping the order of equals; None is last in either direction."""
    present = [i for i, value in enumerate(sort_values) if value is not None]
    present.sort(key=lambda i: sort_values[i], reverse=descending)
    result_rows[:] = [
        result_rows[i] for i in [*present, *(i for i, value in enumerate(sort_values) if value is None)]
    ]


def _sort_value(
    row: tuple[Any, ...],
    column_sort: ColumnSort,
    plan: AggregateQuery,
    aggregations: tuple[Aggregation, ...],
    key_column_count: int,
) -> Any:
    """Returns the value a result row is sorted by: its bucket, a dimension or its null label, or a measure.

    Args:
        row: the key columns, then the values of the aggregations.
        column_sort: the column to sort by.
        plan: its measures and dimensions.
        aggregations: in the order of the row.
        key_column_count: the number of key columns.
    """
    if column_sort.by == "bucket":
        return row[0]
    kind, index = column_sort.by[0], int(column_sort.by[1:])
    if kind == "d":
        value = row[(plan.buckets is not None) + index]
        return column_sort.null_label if value is None else value
    return compute_measure(plan.measures[index], dict(zip(aggregations, row[key_column_count:], strict=True)))


def compute_measure(measure: Measure, value_by_aggregation: dict[Aggregation, Number]) -> Number | None:
    """Returns the value of a measure computed from its aggregations; None for a division by 0."""
    if isinstance(measure, Aggregation):
        return value_by_aggregation[measure]
    if isinstance(measure, Difference):
        left, right = (
            compute_measure(measure.minuend, value_by_aggregation),
            compute_measure(measure.subtrahend, value_by_aggregation),
        )
        return None if left is None or right is None else left - right
    if isinstance(measure, Ratio):
        numerator, denominator = (
            compute_measure(measure.numerator, value_by_aggregation),
            compute_measure(measure.denominator, value_by_aggregation),
        )
        if numerator is None or not denominator:
            return None
        value = numerator / denominator * measure.scale
        return 1 - value if measure.complement else value
    return None
