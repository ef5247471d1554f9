"""Instants, ranges and buckets in a workspace's zone (contract 2.7, semantics 18).

Inside the house every range is a half-open `Span` in UTC. A bucket series is a list of UTC starts
that follows the wall clock of the zone: days may have 23, 24.5 or 25 hours and no midnight.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.wall_clock import day_start, local_date

_INSTANT: Final = timedelta.resolution


class Unit(StrEnum):
    """Bucket sizes."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"


@dataclass(frozen=True, slots=True)
class Span:
    """The instants ``start <= t < end``, aware UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of ``count`` buckets of equal length, the first one at ``start``."""

    start: datetime
    seconds: int
    count: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """A series of buckets that covers a span.

    Attributes:
        unit: their size.
        starts: UTC instants of the local starts, ascending; the first lies at or before the span.
        end: UTC instant at which the last bucket ends.
    """

    unit: Unit
    starts: tuple[datetime, ...]
    end: datetime

    def stretches(self) -> tuple[Stretch, ...]:
        """The series as runs of equal buckets: a store finds the bucket of an event by division.

        A year of days in a zone with two clock changes is five runs; no calendar or time-zone
        function of an engine is ever asked.
        """
        runs: list[Stretch] = []
        for start, end in pairwise((*self.starts, self.end)):
            seconds = int((end - start).total_seconds())
            if runs and runs[-1].seconds == seconds:
                runs[-1] = Stretch(runs[-1].start, seconds, runs[-1].count + 1)
            else:
                runs.append(Stretch(start, seconds, 1))
        return tuple(runs)


@dataclass(frozen=True, slots=True)
class Range:
    """A span as a question means it: in a zone, asked at an instant.

    Attributes:
        span: its instants.
        zone: whose wall clock days and buckets follow.
        now: when it was asked; what lies after is not over yet.
    """

    span: Span
    zone: ZoneInfo
    now: datetime

    @property
    def last(self) -> datetime:
        """The inclusive end as answers show it: one millisecond before the end."""
        return self.span.end - timedelta(milliseconds=1)

    @property
    def partial(self) -> bool:
        """Whether it reaches past now."""
        return self.last > self.now

    @property
    def first_day(self) -> date:
        """The local date it starts on."""
        return local_date(self.span.start, self.zone)

    @property
    def last_day(self) -> date:
        """The local date it ends on."""
        return local_date(self.span.end - _INSTANT, self.zone)

    @property
    def is_calendar(self) -> bool:
        """Whether it consists of whole local days, however it was written."""
        return self.span == whole_days(self.first_day, self.last_day, self.zone)


def whole_days(first: date, last: date, zone: ZoneInfo) -> Span:
    """The local days from ``first`` to ``last``, both whole."""
    return Span(day_start(first, zone), day_start(last + timedelta(days=1), zone))
