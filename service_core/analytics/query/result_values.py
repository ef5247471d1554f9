"""Converts values of result rows to JSON numbers."""

from service_core.analytics.query.catalog import Metric
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.models import ResultRow
from service_core.kernel.availability import Measured, Measurement


def as_count(reading: Measurement) -> int:
    """Returns a count that is always measured, such as those of events."""
    return int(reading.value or 0) if isinstance(reading, Measured) else 0


def as_counts(row: ResultRow) -> tuple[int, ...]:
    """Returns the values of a row of counts."""
    return tuple(as_count(value) for value in row.values)


def to_json_numbers(row: ResultRow, metrics: tuple[Metric, ...], currency: str) -> tuple[float | None, ...]:
    """Returns the values of a row as JSON numbers."""
    return tuple(
        round_to_json_number_by_unit(value, metric, currency)
        for value, metric in zip(row.values, metrics, strict=True)
    )
