"""What the reads over a range have in common: their parameters, and how a table becomes rows."""

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.catalog import Metric
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Row
from service_core.kernel.date_range import between
from service_core.kernel.params import QueryModel
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Measured, Reading


class RangeQuery(QueryModel):
    """Parameters of a read over a range."""

    start_date: str | None = Field(
        default=None, description="Start, inclusive: a date or an ISO 8601 instant."
    )
    end_date: str | None = Field(default=None, description="End, inclusive: a date or an ISO 8601 instant.")
    include_bots: bool = Field(default=False, description="Count events of bots, too.")

    def asked(self, who: Caller) -> Range:
        """The range in the caller's zone.

        Raises:
            BadRequest: a date is missing, does not parse, or the start lies after the end.
        """
        return between(self.start_date, self.end_date, who.workspace.zone, who.now)


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
