"""Bucket series over a range (contract 2.7, semantics 18).

A series follows the wall clock: its buckets are local hours, days, weeks from Monday, months or
quarters, each known by the UTC instant of its local start.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import count, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import Buckets, BucketUnit, ResolvedRange, TimeRange
from service_core.kernel.wall_clock import day_start, hour_start, local_date, next_hour_start

MAX_BUCKETS: Final = 1000
BUCKET_UNITS: Final = (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.WEEK, BucketUnit.MONTH, BucketUnit.QUARTER)
"""Bucket sizes of the wire, small to large."""

_MIN_BUCKET_LENGTH: Final = {
    BucketUnit.HOUR: timedelta(hours=1),
    BucketUnit.DAY: timedelta(days=1),
    BucketUnit.WEEK: timedelta(days=7),
    BucketUnit.MONTH: timedelta(days=31),
    BucketUnit.QUARTER: timedelta(days=92),
}
_MONTHS_PER_BUCKET: Final = {BucketUnit.MONTH: 1, BucketUnit.QUARTER: 3}
_UNIT_BY_MAX_DAYS: Final = ((0, BucketUnit.HOUR), (60, BucketUnit.DAY), (180, BucketUnit.WEEK))


def choose_bucket_unit(date_range: ResolvedRange) -> BucketUnit:
    """The size that suits a range, by the difference of its local dates."""
    days = (date_range.last_day - date_range.first_day).days
    return next((unit for most, unit in _UNIT_BY_MAX_DAYS if days <= most), BucketUnit.MONTH)


def build_bucket_series(
    date_range: ResolvedRange, unit: BucketUnit, units: Sequence[BucketUnit] = BUCKET_UNITS
) -> Buckets:
    """The buckets that cover a range, in the size asked or, over 1,000 of them, a larger one.

    Args:
        asked: the range.
        unit: the size asked for.
        sizes: the sizes that may be used, small to large; the last one is never refused.
    """
    larger = units[units.index(unit) :]
    length = date_range.span.end - date_range.span.start
    for size in larger:
        if size is not larger[-1] and length / _MIN_BUCKET_LENGTH[size] > MAX_BUCKETS + 1:
            continue
        buckets = buckets_covering(date_range.span, size, date_range.zone)
        if len(buckets.starts) <= MAX_BUCKETS:
            break
    return buckets


def started_buckets(buckets: Buckets, now: datetime) -> Buckets:
    """The buckets that have begun by now, as none is shown after it."""
    begun = tuple(start for start in buckets.starts if start <= now)
    if len(begun) == len(buckets.starts):
        return buckets
    return Buckets(buckets.unit, begun, buckets.starts[len(begun)])


def buckets_overlapping(buckets: Buckets, first: datetime, last: datetime) -> Buckets:
    """The buckets that reach into ``first`` to ``last``; where none does, the one that lies nearest."""
    starts = buckets.starts
    begin = min(max(bisect_right(starts, first) - 1, 0), len(starts) - 1)
    stop = max(bisect_right(starts, last), begin + 1)
    return Buckets(buckets.unit, starts[begin:stop], (*starts, buckets.end)[stop])


def partial_bucket_flags(buckets: Buckets, date_range: ResolvedRange) -> list[bool]:
    """Per bucket, whether the range cuts it or it is not over yet."""
    return [
        start < date_range.span.start or end > date_range.span.end or end > date_range.now
        for start, end in pairwise((*buckets.starts, buckets.end))
    ]


def buckets_covering(time_range: TimeRange, unit: BucketUnit, zone: ZoneInfo) -> Buckets:
    """The series of one size from the bucket of the start to that of the end."""
    starts: list[datetime] = []
    for start in _bucket_starts(time_range.start, unit, zone):
        if start >= time_range.end:
            return Buckets(unit, tuple(starts), start)
        starts.append(start)
    raise AssertionError("a series of starts has no end")


def _bucket_starts(first: datetime, unit: BucketUnit, zone: ZoneInfo) -> Iterator[datetime]:
    if unit is BucketUnit.MINUTE:
        yield from (first.replace(second=0, microsecond=0) + timedelta(minutes=n) for n in count())
    if unit is BucketUnit.HOUR:
        start = hour_start(first, zone)
        while True:
            yield start
            start = next_hour_start(start, zone)
    previous = None
    for day in _bucket_start_days(local_date(first, zone), unit):
        start = day_start(day, zone)
        if start != previous:
            yield start
        previous = start


def _bucket_start_days(first: date, unit: BucketUnit) -> Iterator[date]:
    """Local dates on which buckets of a calendar size start, from the one that holds ``first``."""
    if unit in _MONTHS_PER_BUCKET:
        step = _MONTHS_PER_BUCKET[unit]
        month = (first.year * 12 + first.month - 1) // step * step
        yield from (date((month + n * step) // 12, (month + n * step) % 12 + 1, 1) for n in count())
    start = first - timedelta(days=first.weekday()) if unit is BucketUnit.WEEK else first
    step = 7 if unit is BucketUnit.WEEK else 1
    yield from (start + timedelta(days=n * step) for n in count())
