"""How a table of metrics becomes rows of an answer."""

from service_core.insight.catalog import Metric
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Row
from service_core.kernel.reading import Measured, Reading


def whole(reading: Reading) -> int:
    """A count that is always measured, as those of events are."""
    return int(reading.value or 0) if isinstance(reading, Measured) else 0


def counts(row: Row) -> tuple[int, ...]:
    """The readings of a row of counts."""
    return tuple(whole(reading) for reading in row.readings)


def shown(row: Row, metrics: tuple[Metric, ...], currency: str) -> tuple[float | None, ...]:
    """The readings of a row as JSON numbers."""
    return tuple(
        rounded(reading, metric, currency) for reading, metric in zip(row.readings, metrics, strict=True)
    )
