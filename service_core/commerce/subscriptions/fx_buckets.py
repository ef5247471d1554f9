"""Exchange rates of subscription movements and of bucket ends."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

from service_core.analytics.ports import QueryScope
from service_core.commerce.subscriptions.ports import MovementSum
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.time_ranges import BucketUnit, TimeRange
from service_core.kernel.wall_clock import local_date


class FxBuckets:
    """Buckets, cut into days where rates make the days differ.

    Args:
        scan: workspace and target currency; it has ``rates`` if there may be other currencies.
        edges: starts of the buckets, and end of the last one.

    Attributes:
        bucket_count: number of buckets.
        interval_starts: starts of the queried intervals (days if rates are needed), and end of the last one.
    """

    def __init__(self, scan: QueryScope, edges: Sequence[datetime]) -> None:
        self.bucket_count = len(edges) - 1
        self._rates = scan.rates or ExchangeRates(scan.currency)
        self._zone, self._edges = ZoneInfo(scan.zone), tuple(edges)
        days = (
            buckets_covering(TimeRange(edges[0], edges[-1]), BucketUnit.DAY, self._zone).starts
            if scan.rates
            else ()
        )
        self.interval_starts = tuple(sorted((*edges, *(day for day in days if edges[0] < day < edges[-1]))))

    def bucket_index_or_minus_one_before_first(self, movement: MovementSum) -> int:
        """Returns the index of the bucket of a movement; -1 for one before the first."""
        return (
            -1
            if movement.bucket < 0
            else bisect_right(self._edges, self.interval_starts[movement.bucket]) - 1
        )

    def rate_at_movement(self, movement: MovementSum) -> Fraction | None:
        """The rate of the day something moved; None when none is known."""
        return self._rate_at_or_one_without_currency(
            self.interval_starts[max(movement.bucket, 0)], movement.currency
        )

    def rate_at_bucket_end(self, bucket: int, currency: str | None) -> Fraction | None:
        """The rate of the day a bucket ends with; None when none is known."""
        return self._rate_at_or_one_without_currency(self._edges[bucket + 1] - datetime.resolution, currency)

    def _rate_at_or_one_without_currency(self, instant: datetime, currency: str | None) -> Fraction | None:
        """Returns the rate of the day of an instant; 1 for amounts without a currency, which are 0."""
        if currency is None:
            return Fraction(1)
        return self._rates.minor_unit_rate_up_to_7_days_old(local_date(instant, self._zone), currency)
