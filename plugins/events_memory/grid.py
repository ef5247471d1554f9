"""An aggregate: rows of the relations by bucket and dimensions, counted, ordered and cut."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from plugins.events_memory.history import History
from plugins.events_memory.rows import Row, rows, within
from service_core.plugin import (
    Aggregate,
    Difference,
    Grid,
    Leaf,
    Measure,
    Ratio,
    Sort,
    Span,
    trailing,
)

Number = int | float
Key = tuple[Any, ...]
"""Bucket start, if bucketed, and dimension values."""


def aggregate(plan: Aggregate, history: History) -> Grid:
    """Evaluate a plan."""
    leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
    groups: dict[Key, list[list[Row]]] = {}
    if plan.buckets is None and not plan.dimensions:
        groups[()] = [[] for _ in leaves]
    for i, leaf in enumerate(leaves):
        for key, row in _keyed(leaf, plan, history):
            groups.setdefault(key, [[] for _ in leaves])[i].append(row)
    found = [
        (*key, *(_count(leaf, met) for leaf, met in zip(leaves, group, strict=True)))
        for key, group in groups.items()
    ]
    width = (plan.buckets is not None) + len(plan.dimensions)
    _sort(found, plan, leaves, width)
    end = None if plan.limit is None else plan.offset + plan.limit
    sums = tuple(sum(row[width + i] for row in found) for i in range(len(leaves)))
    return Grid(found[plan.offset : end], leaves, len(found), sums)


def _keyed(leaf: Leaf, plan: Aggregate, history: History) -> Iterator[tuple[Key, Row]]:
    """Each row a leaf counts with its group; a trailing leaf counts a row in several buckets."""
    met = list(rows(leaf, plan, history))
    for bucket, row in _bucketed(leaf, plan, met):
        columns = (dimension.get(leaf.of) for dimension in plan.dimensions)
        values = tuple(None if column is None else row.value(column) for column in columns)
        yield ((*bucket, *values), row)


def _bucketed(leaf: Leaf, plan: Aggregate, met: Iterable[Row]) -> Iterator[tuple[tuple[datetime, ...], Row]]:
    span, buckets = plan.scan.span, plan.buckets
    if leaf.trailing_days is not None:
        for bucket, part in _parts(plan):
            wide = trailing(part, leaf.trailing_days, plan.scan.zone)
            yield from ((bucket, row) for row in met if within(wide, row.at))
        return
    for row in met:
        if within(span, row.at):
            yield (
                (() if buckets is None else (buckets.starts[bisect_right(buckets.starts, row.at) - 1],)),
                row,
            )


def _parts(plan: Aggregate) -> Iterator[tuple[tuple[datetime, ...], Span]]:
    """The span, or each bucket of it, cut to the span."""
    span = plan.scan.span
    if plan.buckets is None:
        yield (), span
        return
    for start, end in pairwise((*plan.buckets.starts, plan.buckets.end)):
        part = Span(max(start, span.start), min(end, span.end))
        if part.start < part.end:
            yield (start,), part


def _count(leaf: Leaf, met: list[Row]) -> Number:
    if leaf.column is None:
        return len(met)
    values = [value for row in met if (value := row.value(leaf.column)) is not None]
    return len(set(values)) if leaf.distinct else sum(values)


def _sort(found: list[tuple[Any, ...]], plan: Aggregate, leaves: tuple[Leaf, ...], width: int) -> None:
    """By the keys of the plan, then by bucket and dimensions; absent values last in either direction."""
    for column in reversed(range(width)):
        _by(found, [row[column] for row in found], descending=False)
    for sort in reversed(plan.order):
        _by(
            found,
            [_sort_value(row, sort, plan, leaves, width) for row in found],
            descending=sort.descending,
        )


def _by(found: list[tuple[Any, ...]], values: list[Any], *, descending: bool) -> None:
    there = [i for i, value in enumerate(values) if value is not None]
    there.sort(key=lambda i: values[i], reverse=descending)
    found[:] = [found[i] for i in [*there, *(i for i, value in enumerate(values) if value is None)]]


def _sort_value(
    row: tuple[Any, ...], sort: Sort, plan: Aggregate, leaves: tuple[Leaf, ...], width: int
) -> Any:
    if sort.by == "bucket":
        return row[0]
    kind, index = sort.by[0], int(sort.by[1:])
    if kind == "d":
        value = row[(plan.buckets is not None) + index]
        return sort.absent if value is None else value
    return measured(plan.measures[index], dict(zip(leaves, row[width:], strict=True)))


def measured(measure: Measure, values: dict[Leaf, Number]) -> Number | None:
    """The value of a measure from those of its leaves; None for a quotient by 0."""
    if isinstance(measure, Leaf):
        return values[measure]
    if isinstance(measure, Difference):
        left, right = measured(measure.minuend, values), measured(measure.subtrahend, values)
        return None if left is None or right is None else left - right
    if isinstance(measure, Ratio):
        above, below = measured(measure.numerator, values), measured(measure.denominator, values)
        if above is None or not below:
            return None
        value = above / below * measure.scale
        return 1 - value if measure.complement else value
    return None
