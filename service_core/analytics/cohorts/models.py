"""Cohort periods and their values."""

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


def last_12_full_weeks(zone: ZoneInfo, now: datetime) -> ResolvedRange:
    """Returns the 12 full ISO weeks before the current one."""
    today = local_date(now, zone)
    monday = today - timedelta(days=today.weekday())
    first = monday - timedelta(weeks=_DEFAULT_WEEKS)
    return ResolvedRange(whole_days_range(first, monday - timedelta(days=1), zone), zone, now)


def choose_cohort_unit_by_range_length(date_range: ResolvedRange) -> BucketUnit:
    """Returns the cohort size that suits a range."""
    days = (date_range.last_day - date_range.first_day).days + 1
    return next((unit for max_days, unit in _UNIT_BY_MAX_DAYS if days <= max_days), BucketUnit.MONTH)


@dataclass(frozen=True, slots=True)
class CohortPeriods:
    """The cohorts of a query and the periods to show of each.

    Attributes:
        acquisition: buckets of the cohorts.
        activity: buckets from the first cohort to the current period.
        max_period: highest period shown.
        zone: time zone of the calendar.
        now: a period that ends by then has elapsed.
        include_partial: also show the period that has not ended.
    """

    acquisition: Buckets
    activity: Buckets
    max_period: int
    zone: ZoneInfo
    now: datetime
    include_partial: bool

    @classmethod
    def for_range_clamped_to_data_and_unit_limit(
        cls, date_range: ResolvedRange, unit: BucketUnit, max_period: int, *, include_partial: bool
    ) -> "CohortPeriods":
        """Returns the periods of a range; ``max_period`` is limited to the maximum of the unit.

        Cohorts start at the earliest possible event time and end now.
        """
        first = max(
            date_range.span.start, min(EARLIEST_EVENT_TIME, date_range.span.end - timedelta.resolution)
        )
        last = max(first, min(date_range.now, date_range.span.end - timedelta.resolution))
        acquisition = buckets_covering(TimeRange(first, last + timedelta.resolution), unit, date_range.zone)
        first_cohort_to_now = TimeRange(
            acquisition.starts[0], max(date_range.now, acquisition.starts[0]) + timedelta.resolution
        )
        activity = buckets_covering(first_cohort_to_now, unit, date_range.zone)
        return cls(
            acquisition,
            activity,
            min(max_period, MAX_PERIODS[unit]),
            date_range.zone,
            date_range.now,
            include_partial,
        )

    def elapsed_periods_with_running_flag(self, cohort_index: int) -> Iterator[tuple[int, bool]]:
        """Yields (period, still running?) of a cohort, from 0; nothing for a cohort of the future."""
        ends = (*self.activity.starts[1:], self.activity.end)
        for period, end in enumerate(ends[cohort_index : cohort_index + self.max_period + 1]):
            has_begun = self.activity.starts[cohort_index + period] <= self.now
            if end <= self.now or (self.include_partial and has_begun):
                yield period, end > self.now

    @property
    def activity_buckets_within_max_period(self) -> Buckets:
        """The activity buckets that any row can show, up to the highest period of the last cohort."""
        starts = self.activity.starts
        last = len(self.acquisition.starts) + self.max_period
        return (
            Buckets(self.activity.unit, starts[:last], (*starts, self.activity.end)[last])
            if last < len(starts)
            else self.activity
        )

    def start_date(self, bucket: int) -> date:
        """Returns the local date on which an activity bucket starts."""
        return local_date(self.activity.starts[bucket], self.zone)


@dataclass(frozen=True, slots=True)
class CohortPeriod:
    """A cohort in one of its periods. ``revenue`` is None if it cannot be expressed in one currency."""

    cohort: int
    period: int
    size: int
    active: int
    returned: int
    revenue: int | None
    is_partial: bool


def build_periods_of_non_empty_cohorts(result: CohortResult, periods: CohortPeriods) -> list[CohortPeriod]:
    """Returns the periods of every cohort that has persons, ordered by cohort."""
    activity = {(cell.cohort, cell.bucket): cell for cell in result.cells}
    return [
        period
        for cohort, size in sorted(result.sizes.items())
        if size
        for period in _build_periods_filling_inactive_ones(cohort, size, activity, periods)
    ]


def _build_periods_filling_inactive_ones(
    cohort_index: int,
    size: int,
    activity_by_cohort_and_bucket: Mapping[tuple[int, int], CohortActivity],
    periods: CohortPeriods,
) -> Iterator[CohortPeriod]:
    returned = _count_active_in_each_bucket_or_later(
        cohort_index, activity_by_cohort_and_bucket, len(periods.activity.starts)
    )
    for period, running in periods.elapsed_periods_with_running_flag(cohort_index):
        cell = activity_by_cohort_and_bucket.get((cohort_index, cohort_index + period)) or CohortActivity(
            cohort_index, cohort_index + period, 0, 0, 0
        )
        revenue = None if cell.foreign_money else cell.revenue
        yield CohortPeriod(
            cohort_index, period, size, cell.active, returned[cohort_index + period], revenue, running
        )


def _count_active_in_each_bucket_or_later(
    cohort_index: int,
    activity_by_cohort_and_bucket: Mapping[tuple[int, int], CohortActivity],
    bucket_count: int,
) -> dict[int, int]:
    """Returns, per bucket, the number of persons active in it or later; empty buckets take the value of the next one."""
    returned: dict[int, int] = {}
    later = 0
    for bucket in reversed(range(cohort_index, bucket_count)):
        cell = activity_by_cohort_and_bucket.get((cohort_index, bucket))
        later = cell.returned if cell else later
        returned[bucket] = later
    return returned
