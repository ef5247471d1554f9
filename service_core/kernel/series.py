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

from service_core.kernel.ranges import Buckets, Range, Span, Unit
from service_core.kernel.wall_clock import day_start, hour_start, local_date, next_hour

MOST_BUCKETS: Final = 1000
SIZES: Final = (Unit.HOUR, Unit.DAY, Unit.WEEK, Unit.MONTH, Unit.QUARTER)
"""Bucket sizes of the wire, small to large."""

_SHORTEST: Final = {
    Unit.HOUR: timedelta(hours=1),
    Unit.DAY: timedelta(days=1),
    Unit.WEEK: timedelta(days=7),
    Unit.MONTH: timedelta(days=31),
    Unit.QUARTER: timedelta(days=92),
}
_MONTHS: Final = {Unit.MONTH: 1, Unit.QUARTER: 3}
_AUTO: Final = ((0, Unit.HOUR), (60, Unit.DAY), (180, Unit.WEEK))


def auto_unit(asked: Range) -> Unit:
    """The size that suits a range, by the difference of its local dates."""
    days = (asked.last_day - asked.first_day).days
    return next((unit for most, unit in _AUTO if days <= most), Unit.MONTH)


def series(asked: Range, unit: Unit, sizes: Sequence[Unit] = SIZES) -> Buckets:
    """The buckets that cover a range, in the size asked or, over 1,000 of them, a larger one.

    Args:
        asked: the range.
        unit: the size asked for.
        sizes: the sizes that may be used, small to large; the last one is never refused.
    """
    larger = sizes[sizes.index(unit) :]
    length = asked.span.end - asked.span.start
    for size in larger:
        if size is not larger[-1] and length / _SHORTEST[size] > MOST_BUCKETS + 1:
            continue
        buckets = cover(asked.span, size, asked.zone)
        if len(buckets.starts) <= MOST_BUCKETS:
            break
    return buckets


def elapsed(buckets: Buckets, now: datetime) -> Buckets:
    """The buckets that have begun by now, as none is shown after it."""
    begun = tuple(start for start in buckets.starts if start <= now)
    if len(begun) == len(buckets.starts):
        return buckets
    return Buckets(buckets.unit, begun, buckets.starts[len(begun)])


def reaching(buckets: Buckets, first: datetime, last: datetime) -> Buckets:
    """The buckets that reach into ``first`` to ``last``; where none does, the one that lies nearest."""
    starts = buckets.starts
    begin = min(max(bisect_right(starts, first) - 1, 0), len(starts) - 1)
    stop = max(bisect_right(starts, last), begin + 1)
    return Buckets(buckets.unit, starts[begin:stop], (*starts, buckets.end)[stop])


def partial(buckets: Buckets, asked: Range) -> list[bool]:
    """Per bucket, whether the range cuts it or it is not over yet."""
    return [
        start < asked.span.start or end > asked.span.end or end > asked.now
        for start, end in pairwise((*buckets.starts, buckets.end))
    ]


def cover(span: Span, unit: Unit, zone: ZoneInfo) -> Buckets:
    """The series of one size from the bucket of the start to that of the end."""
    starts: list[datetime] = []
    for start in _starts(span.start, unit, zone):
        if start >= span.end:
            return Buckets(unit, tuple(starts), start)
        starts.append(start)
    raise AssertionError("a series of starts has no end")


def _starts(first: datetime, unit: Unit, zone: ZoneInfo) -> Iterator[datetime]:
    if unit is Unit.MINUTE:
        yield from (first.replace(second=0, microsecond=0) + timedelta(minutes=n) for n in count())
    if unit is Unit.HOUR:
        start = hour_start(first, zone)
        while True:
            yield start
            start = next_hour(start, zone)
    previous = None
    for day in _days(local_date(first, zone), unit):
        start = day_start(day, zone)
        if start != previous:
            yield start
        previous = start


def _days(first: date, unit: Unit) -> Iterator[date]:
    """Local dates on which buckets of a calendar size start, from the one that holds ``first``."""
    if unit in _MONTHS:
        step = _MONTHS[unit]
        month = (first.year * 12 + first.month - 1) // step * step
        yield from (date((month + n * step) // 12, (month + n * step) % 12 + 1, 1) for n in count())
    start = first - timedelta(days=first.weekday()) if unit is Unit.WEEK else first
    step = 7 if unit is Unit.WEEK else 1
    yield from (start + timedelta(days=n * step) for n in count())
