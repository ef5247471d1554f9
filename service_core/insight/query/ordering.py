"""Total order of rows: names by code point, labels included; what is unknown last (contract 2.9)."""

from collections.abc import Callable, Iterable
from typing import Any

from service_core.insight.query.question import BUCKET, Order, Question, Row
from service_core.kernel.reading import Measured


def default_order(
    metrics: tuple[str, ...], dimensions: tuple[str, ...], *, bucketed: bool
) -> tuple[Order, ...]:
    """By time when bucketed, then the first metric down."""
    first = Order(metrics[0])
    return total_order(
        (Order(BUCKET, descending=False), first) if bucketed else (first,), dimensions, bucketed=bucketed
    )


def total_order(
    order: tuple[Order, ...], dimensions: tuple[str, ...], *, bucketed: bool
) -> tuple[Order, ...]:
    """The order with what it lacks to be total: bucket, then names, ascending."""
    named = {key.field for key in order}
    rest = (*((BUCKET,) if bucketed else ()), *dimensions)
    return (*order, *(Order(field, descending=False) for field in rest if field not in named))


def ordered(rows: Iterable[Row], question: Question) -> list[Row]:
    """The rows in the order of the question."""
    found = list(rows)
    for key in reversed(question.order):
        value = _value(key.field, question)
        if value is None:
            continue
        known = [row for row in found if value(row) is not None]
        unknown = [row for row in found if value(row) is None]
        found = sorted(known, key=value, reverse=key.descending) + unknown
    return found


def _value(field: str, question: Question) -> Callable[[Row], Any] | None:
    if field == BUCKET:
        return lambda row: row.bucket
    if field in question.dimensions:
        position = question.dimensions.index(field)
        return lambda row: row.labels[position]
    if field in question.metrics:
        position = question.metrics.index(field)
        return lambda row: reading.value if isinstance(reading := row.readings[position], Measured) else None
    return None
