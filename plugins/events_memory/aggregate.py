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
    leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.aggregations()))
    groups: dict[Key, list[list[RelationRow]]] = {}
    if plan.buckets is None and not plan.dimensions:
        groups[()] = [[] for _ in leaves]
    for i, leaf in enumerate(leaves):
        for key, row in _rows_by_group(leaf, plan, history):
            groups.setdefault(key, [[] for _ in leaves])[i].append(row)
    found = [
        (*key, *(_leaf_value(leaf, met) for leaf, met in zip(leaves, group, strict=True)))
        for key, group in groups.items()
    ]
    width = (plan.buckets is not None) + len(plan.dimensions)
    _sort_groups(found, plan, leaves, width)
    end = None if plan.limit is None else plan.offset + plan.limit
    sums = tuple(sum(row[width + i] for row in found) for i in range(len(leaves)))
    return AggregateResult(found[plan.offset : end], leaves, len(found), sums)


def _rows_by_group(
    leaf: Aggregation, plan: AggregateQuery, history: WorkspaceEvents
) -> Iterator[tuple[Key, RelationRow]]:
    """Yields each row that a leaf counts with its group; a trailing leaf counts a row in several buckets."""
    met = list(relation_rows(leaf, plan, history))
    for bucket, row in _rows_by_bucket(leaf, plan, met):
        columns = (dimension.get(leaf.relation) for dimension in plan.dimensions)
        values = tuple(None if column is None else row.value(column) for column in columns)
        yield ((*bucket, *values), row)


def _rows_by_bucket(
    leaf: Aggregation, plan: AggregateQuery, met: Iterable[RelationRow]
) -> Iterator[tuple[tuple[datetime, ...], RelationRow]]:
    span, buckets = plan.scope.span, plan.buckets
    if leaf.trailing_days is not None:
        for bucket, part in _bucket_spans(plan):
            wide = compute_trailing_span(part, leaf.trailing_days, plan.scope.zone)
            yield from ((bucket, row) for row in met if is_in_span(wide, row.at))
        return
    for row in met:
        if is_in_span(span, row.at):
            yield (
                (() if buckets is None else (buckets.starts[bisect_right(buckets.starts, row.at) - 1],)),
                row,
            )


def _bucket_spans(plan: AggregateQuery) -> Iterator[tuple[tuple[datetime, ...], TimeRange]]:
    """Yields each bucket cut to the span; the whole span when there are no buckets."""
    span = plan.scope.span
    if plan.buckets is None:
        yield (), span
        return
    for start, end in pairwise((*plan.buckets.starts, plan.buckets.end)):
        part = TimeRange(max(start, span.start), min(end, span.end))
        if part.start < part.end:
            yield (start,), part


def _leaf_value(leaf: Aggregation, met: list[RelationRow]) -> Number:
    if leaf.column is None:
        return len(met)
    values = [value for row in met if (value := row.value(leaf.column)) is not None]
    return len(set(values)) if leaf.distinct else sum(values)


def _sort_groups(
    found: list[tuple[Any, ...]], plan: AggregateQuery, leaves: tuple[Aggregation, ...], width: int
) -> None:
    """Sorts by the order of the plan, then by bucket and dimensions; None is last in either direction."""
    for column in reversed(range(width)):
        _sort_by_values(found, [row[column] for row in found], descending=False)
    for sort in reversed(plan.order):
        _sort_by_values(
            found,
            [_sort_value(row, sort, plan, leaves, width) for row in found],
            descending=sort.descending,
        )


def _sort_by_values(found: list[tuple[Any, ...]], values: list[Any], *, descending: bool) -> None:
    there = [i for i, value in enumerate(values) if value is not None]
    there.sort(key=lambda i: values[i], reverse=descending)
    found[:] = [found[i] for i in [*there, *(i for i, value in enumerate(values) if value is None)]]


def _sort_value(
    row: tuple[Any, ...], sort: ColumnSort, plan: AggregateQuery, leaves: tuple[Aggregation, ...], width: int
) -> Any:
    if sort.by == "bucket":
        return row[0]
    kind, index = sort.by[0], int(sort.by[1:])
    if kind == "d":
        value = row[(plan.buckets is not None) + index]
        return sort.null_label if value is None else value
    return measure_value(plan.measures[index], dict(zip(leaves, row[width:], strict=True)))


def measure_value(measure: Measure, values: dict[Aggregation, Number]) -> Number | None:
    """Returns the value of a measure computed from its leaves; None for a division by 0."""
    if isinstance(measure, Aggregation):
        return values[measure]
    if isinstance(measure, Difference):
        left, right = measure_value(measure.minuend, values), measure_value(measure.subtrahend, values)
        return None if left is None or right is None else left - right
    if isinstance(measure, Ratio):
        above, below = measure_value(measure.numerator, values), measure_value(measure.denominator, values)
        if above is None or not below:
            return None
        value = above / below * measure.scale
        return 1 - value if measure.complement else value
    return None
