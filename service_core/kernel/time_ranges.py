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

_RESOLUTION: Final = timedelta.resolution


class BucketUnit(StrEnum):
    """Bucket sizes."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The instants ``start <= t < end``, aware UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class BucketRun:
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

    unit: BucketUnit
    starts: tuple[datetime, ...]
    end: datetime

    def runs(self) -> tuple[BucketRun, ...]:
        """The series as runs of equal buckets: a store finds the bucket of an event by division.

        A year of days in a zone with two clock changes is five runs; no calendar or time-zone
        function of an engine is ever asked.
        """
        runs: list[BucketRun] = []
        for start, end in pairwise((*self.starts, self.end)):
            seconds = int((end - start).total_seconds())
            if runs and runs[-1].seconds == seconds:
                runs[-1] = BucketRun(runs[-1].start, seconds, runs[-1].count + 1)
            else:
                runs.append(BucketRun(start, seconds, 1))
        return tuple(runs)


@dataclass(frozen=True, slots=True)
class ResolvedRange:
    """A span as a question means it: in a zone, asked at an instant.

    Attributes:
        span: its instants.
        zone: whose wall clock days and buckets follow.
        now: when it was asked; what lies after is not over yet.
    """

    span: TimeRange
    zone: ZoneInfo
    now: datetime

    @property
    def inclusive_end(self) -> datetime:
        """The inclusive end as answers show it: one millisecond before the end."""
        return self.span.end - timedelta(milliseconds=1)

    @property
    def extends_past_now(self) -> bool:
        """Whether it reaches past now."""
        return self.inclusive_end > self.now

    @property
    def first_day(self) -> date:
        """The local date it starts on."""
        return local_date(self.span.start, self.zone)

    @property
    def last_day(self) -> date:
        """The local date it ends on."""
        return local_date(self.span.end - _RESOLUTION, self.zone)

    @property
    def is_whole_days(self) -> bool:
        """Whether it consists of whole local days, however it was written."""
        return self.span == whole_days_range(self.first_day, self.last_day, self.zone)


def whole_days_range(first: date, last: date, zone: ZoneInfo) -> TimeRange:
    """The local days from ``first`` to ``last``, both whole."""
    return TimeRange(day_start(first, zone), day_start(last + timedelta(days=1), zone))
