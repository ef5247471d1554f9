"""Cohorts and their periods: the pure rules between a question and a table (semantics 16)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.insight.cohorts.ports import CohortCell, CohortTable
from service_core.intake.event_time import EARLIEST
from service_core.kernel.ranges import Buckets, Range, Span, Unit, whole_days
from service_core.kernel.series import cover
from service_core.kernel.wall_clock import local_date

MOST_PERIODS: Final[Mapping[Unit, int]] = {Unit.DAY: 31, Unit.WEEK: 52, Unit.MONTH: 24}
_BY_LENGTH: Final = ((31, Unit.DAY), (182, Unit.WEEK))
_DEFAULT_WEEKS: Final = 12


def default_range(zone: ZoneInfo, now: datetime) -> Range:
    """The 12 full ISO weeks before the current one."""
    today = local_date(now, zone)
    monday = today - timedelta(days=today.weekday())
    first = monday - timedelta(weeks=_DEFAULT_WEEKS)
    return Range(whole_days(first, monday - timedelta(days=1), zone), zone, now)


def unit_for(asked: Range) -> Unit:
    """The size of cohorts that suits a range."""
    days = (asked.last_day - asked.first_day).days + 1
    return next((unit for most, unit in _BY_LENGTH if days <= most), Unit.MONTH)


@dataclass(frozen=True, slots=True)
class Periods:
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
    most: int
    zone: ZoneInfo
    now: datetime
    with_running: bool

    @classmethod
    def of(cls, asked: Range, unit: Unit, most: int, *, with_running: bool) -> "Periods":
        """The periods of a question; ``most`` is kept within what the size allows.

        Nobody comes before the first instant an event can have, or after now.
        """
        first = max(asked.span.start, min(EARLIEST, asked.span.end - timedelta.resolution))
        last = max(first, min(asked.now, asked.span.end - timedelta.resolution))
        acquisition = cover(Span(first, last + timedelta.resolution), unit, asked.zone)
        begun = Span(acquisition.starts[0], max(asked.now, acquisition.starts[0]) + timedelta.resolution)
        activity = cover(begun, unit, asked.zone)
        return cls(acquisition, activity, min(most, MOST_PERIODS[unit]), asked.zone, asked.now, with_running)

    def of_cohort(self, cohort: int) -> Iterator[tuple[int, bool]]:
        """(Period, still running?) of a cohort, from 0; empty for a cohort of the future."""
        ends = (*self.activity.starts[1:], self.activity.end)
        for period, end in enumerate(ends[cohort : cohort + self.most + 1]):
            begun = self.activity.starts[cohort + period] <= self.now
            if end <= self.now or (self.with_running and begun):
                yield period, end > self.now

    @property
    def shown(self) -> Buckets:
        """The activity any row can tell of: nothing after the highest period of the last cohort."""
        starts = self.activity.starts
        last = len(self.acquisition.starts) + self.most
        return (
            Buckets(self.activity.unit, starts[:last], (*starts, self.activity.end)[last])
            if last < len(starts)
            else self.activity
        )

    def day(self, bucket: int) -> date:
        """The local date a bucket of activity starts on."""
        return local_date(self.activity.starts[bucket], self.zone)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cohort in one of its periods. ``revenue`` is None when it cannot be told in one currency."""

    cohort: int
    period: int
    size: int
    active: int
    returned: int
    revenue: int | None
    running: bool


def cells(table: CohortTable, periods: Periods) -> list[Cell]:
    """Every cohort that has persons in each of its periods, cohort by cohort."""
    found = {(cell.cohort, cell.bucket): cell for cell in table.cells}
    return [
        cell
        for cohort, size in sorted(table.sizes.items())
        if size
        for cell in _row(cohort, size, found, periods)
    ]


def _row(
    cohort: int, size: int, found: Mapping[tuple[int, int], CohortCell], periods: Periods
) -> Iterator[Cell]:
    returned = _returned(cohort, found, len(periods.activity.starts))
    for period, running in periods.of_cohort(cohort):
        cell = found.get((cohort, cohort + period)) or CohortCell(cohort, cohort + period, 0, 0, 0)
        revenue = None if cell.foreign_money else cell.revenue
        yield Cell(cohort, period, size, cell.active, returned[cohort + period], revenue, running)


def _returned(cohort: int, found: Mapping[tuple[int, int], CohortCell], buckets: int) -> dict[int, int]:
    """Per bucket, who was active in it or later: where a cell is empty, that of the next one that is not."""
    returned: dict[int, int] = {}
    later = 0
    for bucket in reversed(range(cohort, buckets)):
        cell = found.get((cohort, bucket))
        later = cell.returned if cell else later
        returned[bucket] = later
    return returned
