"""Time ranges, date ranges and buckets in the time zone of a workspace.

Internally every range is a half-open `TimeRange` in UTC. A bucket series is a list of UTC start times that follow
the local time of the zone: a day may have 23 or 24.5 hours and no midnight.
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
    """Sizes of buckets."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The half-open interval ``start <= t < end``, both aware UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class BucketRun:
    """A run of ``count`` consecutive buckets of equal length, the first one at ``start``."""

    start: datetime
    seconds: int
    count: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """A series of buckets that covers a time range.

    Attributes:
        unit: their size.
        starts: UTC instants of the local starts, ascending; the first is at or before the start of the range.
        end: UTC instant at which the last bucket ends.
    """

    unit: BucketUnit
    starts: tuple[datetime, ...]
    end: datetime

    def runs_of_equal_length(self) -> tuple[BucketRun, ...]:
        """Returns the series as runs of buckets of equal length.

        An event store finds the bucket of an event by division and needs no calendar or time zone functions. A year of days
        with two clock changes has five runs.
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
    """A date range of a request, resolved in a time zone at a point in time.

    Attributes:
        span: the time range in UTC.
        zone: time zone of its days and buckets.
        now: time of the request.
    """

    span: TimeRange
    zone: ZoneInfo
    now: datetime

    @property
    def inclusive_end(self) -> datetime:
        """The inclusive end as answers show it: one millisecond before the exclusive end."""
        return self.span.end - timedelta(milliseconds=1)

    @property
    def extends_past_now(self) -> bool:
        """Whether the range ends after the time of the request."""
        return self.inclusive_end > self.now

    @property
    def first_day(self) -> date:
        """The local date of its start."""
        return local_date(self.span.start, self.zone)

    @property
    def last_day(self) -> date:
        """The local date of its end."""
        return local_date(self.span.end - _RESOLUTION, self.zone)

    @property
    def is_whole_days(self) -> bool:
        """Whether it consists of whole local days, however the request expressed it."""
        return self.span == whole_days_range(self.first_day, self.last_day, self.zone)


def whole_days_range(first: date, last: date, zone: ZoneInfo) -> TimeRange:
    """Returns the time range of the local days from ``first`` to ``last``, both included."""
    return TimeRange(day_start(first, zone), day_start(last + timedelta(days=1), zone))
