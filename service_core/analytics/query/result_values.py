"""How a table of metrics becomes rows of an answer."""

from service_core.analytics.query.catalog import Metric
from service_core.analytics.query.compute import round_for_unit
from service_core.analytics.query.models import ResultRow
from service_core.kernel.availability import Measured, Measurement


def as_count(reading: Measurement) -> int:
    """A count that is always measured, as those of events are."""
    return int(reading.value or 0) if isinstance(reading, Measured) else 0


def as_counts(row: ResultRow) -> tuple[int, ...]:
    """The readings of a row of counts."""
    return tuple(as_count(reading) for reading in row.values)


def to_json_numbers(row: ResultRow, metrics: tuple[Metric, ...], currency: str) -> tuple[float | None, ...]:
    """The readings of a row as JSON numbers."""
    return tuple(
        round_for_unit(reading, metric, currency) for reading, metric in zip(row.values, metrics, strict=True)
    )
