"""Bucket series over a date range.

Buckets are local hours, days, weeks from Monday, months or quarters. Each is identified by the UTC instant of its
local start.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import count, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import Buckets, BucketUnit, ResolvedRange, TimeRange
from service_core.kernel.wall_clock import day_start, local_date, local_hour_start, next_local_hour_start

MAX_BUCKETS: Final = 1000
BUCKET_UNITS: Final = (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.WEEK, BucketUnit.MONTH, BucketUnit.QUARTER)
"""Bucket units that requests may use, small to large."""

_MIN_BUCKET_LENGTH: Final = {
    BucketUnit.HOUR: timedelta(hours=1),
    BucketUnit.DAY: timedelta(days=1),
    BucketUnit.WEEK: timedelta(days=7),
    BucketUnit.MONTH: timedelta(days=31),
    BucketUnit.QUARTER: timedelta(days=92),
}
_MONTHS_PER_BUCKET: Final = {BucketUnit.MONTH: 1, BucketUnit.QUARTER: 3}
_UNIT_BY_MAX_DAYS: Final = ((0, BucketUnit.HOUR), (60, BucketUnit.DAY), (180, BucketUnit.WEEK))


def choose_bucket_unit_by_range_length(date_range: ResolvedRange) -> BucketUnit:
    """Returns the bucket unit for a range when the request names none, by the number of local days."""
    days = (date_range.last_day - date_range.first_day).days
    return next((unit for max_days, unit in _UNIT_BY_MAX_DAYS if days <= max_days), BucketUnit.MONTH)


def build_series_of_at_most_1000_buckets(
    date_range: ResolvedRange, requested_unit: BucketUnit, allowed_units: Sequence[BucketUnit] = BUCKET_UNITS
) -> Buckets:
    """Returns the buckets that cover a range, in the requested unit or the next larger one with at most 1,000 buckets.

    Args:
        date_range: the range to cover.
        requested_unit: the requested unit.
        allowed_units: the allowed units, small to large. The last one is used whatever the number of buckets.
    """
    candidates = allowed_units[allowed_units.index(requested_unit) :]
    length = date_range.span.end - date_range.span.start
    for larger_unit in candidates:
        if larger_unit is not candidates[-1] and length / _MIN_BUCKET_LENGTH[larger_unit] > MAX_BUCKETS + 1:
            continue
        buckets = buckets_covering(date_range.span, larger_unit, date_range.zone)
        if len(buckets.starts) <= MAX_BUCKETS:
            break
    return buckets


def buckets_started_by_now(buckets: Buckets, now: datetime) -> Buckets:
    """Returns the buckets that have started by ``now``."""
    started = tuple(start for start in buckets.starts if start <= now)
    if len(started) == len(buckets.starts):
        return buckets
    return Buckets(buckets.unit, started, buckets.starts[len(started)])


def buckets_overlapping_or_nearest(
    buckets: Buckets, first_instant: datetime, last_instant: datetime
) -> Buckets:
    """Returns the buckets that overlap the time from ``first`` to ``last``, or the nearest one if none does."""
    starts = buckets.starts
    begin = min(max(bisect_right(starts, first_instant) - 1, 0), len(starts) - 1)
    stop = max(bisect_right(starts, last_instant), begin + 1)
    return Buckets(buckets.unit, starts[begin:stop], (*starts, buckets.end)[stop])


def cut_or_unfinished_bucket_flags(buckets: Buckets, date_range: ResolvedRange) -> list[bool]:
    """Returns for each bucket whether the range cuts it or it has not ended yet."""
    return [
        start < date_range.span.start or end > date_range.span.end or end > date_range.now
        for start, end in pairwise((*buckets.starts, buckets.end))
    ]


def buckets_covering(time_range: TimeRange, unit: BucketUnit, zone: ZoneInfo) -> Buckets:
    """Returns the buckets of one unit from the start to the end of a time range."""
    starts: list[datetime] = []
    for start in _iterate_bucket_starts_endlessly(time_range.start, unit, zone):
        if start >= time_range.end:
            return Buckets(unit, tuple(starts), start)
        starts.append(start)
    raise AssertionError("a series of starts has no end")


def _iterate_bucket_starts_endlessly(
    first_instant: datetime, unit: BucketUnit, zone: ZoneInfo
) -> Iterator[datetime]:
    if unit is BucketUnit.MINUTE:
        yield from (first_instant.replace(second=0, microsecond=0) + timedelta(minutes=n) for n in count())
    if unit is BucketUnit.HOUR:
        start = local_hour_start(first_instant, zone)
        while True:
            yield start
            start = next_local_hour_start(start, zone)
    previous = None
    for day in _iterate_bucket_start_days_endlessly(local_date(first_instant, zone), unit):
        start = day_start(day, zone)
        if start != previous:
            yield start
        previous = start


def _iterate_bucket_start_days_endlessly(first_day: date, unit: BucketUnit) -> Iterator[date]:
    """Yields the local dates on which buckets of a calendar unit start, beginning with the one that contains ``first``."""
    if unit in _MONTHS_PER_BUCKET:
        step = _MONTHS_PER_BUCKET[unit]
        month = (first_day.year * 12 + first_day.month - 1) // step * step
        yield from (date((month + n * step) // 12, (month + n * step) % 12 + 1, 1) for n in count())
    start = first_day - timedelta(days=first_day.weekday()) if unit is BucketUnit.WEEK else first_day
    step = 7 if unit is BucketUnit.WEEK else 1
    yield from (start + timedelta(days=n * step) for n in count())
