"""Cohorts and their periods: the pure rules between a question and a table (semantics 16)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.analytics.cohorts.ports import CohortActivity, CohortResult
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import Buckets, BucketUnit, ResolvedRange, TimeRange, whole_days_range
from service_core.kernel.wall_clock import local_date

MAX_PERIODS: Final[Mapping[BucketUnit, int]] = {BucketUnit.DAY: 31, BucketUnit.WEEK: 52, BucketUnit.MONTH: 24}
_UNIT_BY_MAX_DAYS: Final = ((31, BucketUnit.DAY), (182, BucketUnit.WEEK))
_DEFAULT_WEEKS: Final = 12


def default_range(zone: ZoneInfo, now: datetime) -> ResolvedRange:
    """The 12 full ISO weeks before the current one."""
    today = local_date(now, zone)
    monday = today - timedelta(days=today.weekday())
    first = monday - timedelta(weeks=_DEFAULT_WEEKS)
    return ResolvedRange(whole_days_range(first, monday - timedelta(days=1), zone), zone, now)


def unit_for(date_range: ResolvedRange) -> BucketUnit:
    """The size of cohorts that suits a range."""
    days = (date_range.last_day - date_range.first_day).days + 1
    return next((unit for most, unit in _UNIT_BY_MAX_DAYS if days <= most), BucketUnit.MONTH)


@dataclass(frozen=True, slots=True)
class CohortPeriods:
    """Which periods of which cohorts can be shown.

    Attributes:
        acquisition: the cohorts.
        activity: from the first cohort to the running period.
        most: highest period shown.
        zone: whose calendar it is.
        now: a period that ends by then has elapsed.
        with_running: also show the period that has not ended.
    """

    acquisition: Buckets
    activity: Buckets
    max_period: int
    zone: ZoneInfo
    now: datetime
    include_partial: bool

    @classmethod
    def for_range(
        cls, date_range: ResolvedRange, unit: BucketUnit, most: int, *, with_running: bool
    ) -> "CohortPeriods":
        """The periods of a question; ``most`` is kept within what the size allows.

        Nobody comes before the first instant an event can have, or after now.
        """
        first = max(
            date_range.span.start, min(EARLIEST_EVENT_TIME, date_range.span.end - timedelta.resolution)
        )
        last = max(first, min(date_range.now, date_range.span.end - timedelta.resolution))
        acquisition = buckets_covering(TimeRange(first, last + timedelta.resolution), unit, date_range.zone)
        begun = TimeRange(
            acquisition.starts[0], max(date_range.now, acquisition.starts[0]) + timedelta.resolution
        )
        activity = buckets_covering(begun, unit, date_range.zone)
        return cls(
            acquisition, activity, min(most, MAX_PERIODS[unit]), date_range.zone, date_range.now, with_running
        )

    def periods_of_cohort(self, cohort: int) -> Iterator[tuple[int, bool]]:
        """(Period, still running?) of a cohort, from 0; empty for a cohort of the future."""
        ends = (*self.activity.starts[1:], self.activity.end)
        for period, end in enumerate(ends[cohort : cohort + self.max_period + 1]):
            begun = self.activity.starts[cohort + period] <= self.now
            if end <= self.now or (self.include_partial and begun):
                yield period, end > self.now

    @property
    def visible_activity(self) -> Buckets:
        """The activity any row can tell of: nothing after the highest period of the last cohort."""
        starts = self.activity.starts
        last = len(self.acquisition.starts) + self.max_period
        return (
            Buckets(self.activity.unit, starts[:last], (*starts, self.activity.end)[last])
            if last < len(starts)
            else self.activity
        )

    def start_date(self, bucket: int) -> date:
        """The local date a bucket of activity starts on."""
        return local_date(self.activity.starts[bucket], self.zone)


@dataclass(frozen=True, slots=True)
class CohortPeriod:
    """A cohort in one of its periods. ``revenue`` is None when it cannot be told in one currency."""

    cohort: int
    period: int
    size: int
    active: int
    returned: int
    revenue: int | None
    is_partial: bool


def build_cohort_periods(table: CohortResult, periods: CohortPeriods) -> list[CohortPeriod]:
    """Every cohort that has persons in each of its periods, cohort by cohort."""
    found = {(cell.cohort, cell.bucket): cell for cell in table.cells}
    return [
        cell
        for cohort, size in sorted(table.sizes.items())
        if size
        for cell in _periods_of_cohort(cohort, size, found, periods)
    ]


def _periods_of_cohort(
    cohort: int, size: int, found: Mapping[tuple[int, int], CohortActivity], periods: CohortPeriods
) -> Iterator[CohortPeriod]:
    returned = _count_returned(cohort, found, len(periods.activity.starts))
    for period, running in periods.periods_of_cohort(cohort):
        cell = found.get((cohort, cohort + period)) or CohortActivity(cohort, cohort + period, 0, 0, 0)
        revenue = None if cell.foreign_money else cell.revenue
        yield CohortPeriod(cohort, period, size, cell.active, returned[cohort + period], revenue, running)


def _count_returned(
    cohort: int, found: Mapping[tuple[int, int], CohortActivity], buckets: int
) -> dict[int, int]:
    """Per bucket, who was active in it or later: where a cell is empty, that of the next one that is not."""
    returned: dict[int, int] = {}
    later = 0
    for bucket in reversed(range(cohort, buckets)):
        cell = found.get((cohort, bucket))
        later = cell.returned if cell else later
        returned[bucket] = later
    return returned
