"""Sort order of result rows: labels by code point, unknown values last."""

from collections.abc import Callable, Iterable
from typing import Any

from service_core.analytics.query.models import BUCKET, MetricQuery, ResultRow, SortKey
from service_core.kernel.availability import Measured


def order_by_time_then_first_metric(
    metrics: tuple[str, ...], dimensions: tuple[str, ...], *, bucketed: bool
) -> tuple[SortKey, ...]:
    """Returns the default order: by time if bucketed, then by the first metric, descending."""
    first = SortKey(metrics[0])
    return append_unsorted_fields_ascending(
        (SortKey(BUCKET, descending=False), first) if bucketed else (first,), dimensions, bucketed=bucketed
    )


def append_unsorted_fields_ascending(
    order: tuple[SortKey, ...], dimensions: tuple[str, ...], *, bucketed: bool
) -> tuple[SortKey, ...]:
    """Returns the order extended by bucket and dimensions, ascending, so that it is total."""
    sorted_fields = {key.field for key in order}
    remaining = (*((BUCKET,) if bucketed else ()), *dimensions)
    return (*order, *(SortKey(field, descending=False) for field in remaining if field not in sorted_fields))


def sort_rows_unknown_last(rows: Iterable[ResultRow], query: MetricQuery) -> list[ResultRow]:
    """Returns the rows in the order of the query."""
    result = list(rows)
    for key in reversed(query.order):
        value = _sort_value_getter_or_none(key.field, query)
        if value is None:
            continue
        with_value = [row for row in result if value(row) is not None]
        without_value = [row for row in result if value(row) is None]
        result = sorted(with_value, key=value, reverse=key.descending) + without_value
    return result


def _sort_value_getter_or_none(field: str, query: MetricQuery) -> Callable[[ResultRow], Any] | None:
    if field == BUCKET:
        return lambda row: row.bucket
    if field in query.dimensions:
        position = query.dimensions.index(field)
        return lambda row: row.labels[position]
    if field in query.metrics:
        position = query.metrics.index(field)
        return lambda row: value.value if isinstance(value := row.values[position], Measured) else None
    return None
