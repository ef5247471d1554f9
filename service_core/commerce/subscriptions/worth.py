"""What subscriptions of other currencies are worth in that of a scan, when they moved and where a bucket ends."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

from service_core.commerce.subscriptions.ports import Moved
from service_core.insight.ports import Scan
from service_core.kernel.ranges import Span, Unit
from service_core.kernel.rates import Rates
from service_core.kernel.series import cover
from service_core.kernel.wall_clock import local_date


class Worth:
    """Buckets, cut into days where rates make the days differ.

    Args:
        scan: whose money in which currency; with ``rates`` where there may be others.
        edges: where the buckets begin, and where the last one ends.

    Attributes:
        buckets: how many there are.
        steps: where the stretches begin that are asked for, and where the last one ends.
    """

    def __init__(self, scan: Scan, edges: Sequence[datetime]) -> None:
        self.buckets = len(edges) - 1
        self._rates = scan.rates or Rates(scan.currency)
        self._zone, self._edges = ZoneInfo(scan.zone), tuple(edges)
        days = cover(Span(edges[0], edges[-1]), Unit.DAY, self._zone).starts if scan.rates else ()
        self.steps = tuple(sorted((*edges, *(day for day in days if edges[0] < day < edges[-1]))))

    def bucket(self, moved: Moved) -> int:
        """The bucket of a stretch; -1 for all that lies before the first."""
        return -1 if moved.bucket < 0 else bisect_right(self._edges, self.steps[moved.bucket]) - 1

    def then(self, moved: Moved) -> Fraction | None:
        """The rate of the day something moved; None when none is known."""
        return self._on(self.steps[max(moved.bucket, 0)], moved.currency)

    def at_end(self, bucket: int, currency: str | None) -> Fraction | None:
        """The rate of the day a bucket ends with; None when none is known."""
        return self._on(self._edges[bucket + 1] - datetime.resolution, currency)

    def _on(self, instant: datetime, currency: str | None) -> Fraction | None:
        """Money nobody named a currency of is none."""
        if currency is None:
            return Fraction(1)
        return self._rates.on(local_date(instant, self._zone), currency)
