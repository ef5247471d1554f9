"""`GET /retention` and `GET /ltv` (contract 3.10, semantics 16)."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import accumulate, groupby
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.cohorts.model import Cell, Periods, cells, default_range, unit_for
from service_core.insight.cohorts.ports import CohortPlan, Cohorts, CohortTable
from service_core.insight.event_names import same_as
from service_core.insight.filtering import exactly
from service_core.insight.freshness import is_complete
from service_core.insight.fx.rated import Rated
from service_core.insight.measures import Predicate
from service_core.insight.ports import Scan
from service_core.insight.range_query import RangeQuery
from service_core.insight.rounding import money, money_per, ratio
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.ranges import Range, Span, Unit

Granularity = Literal["day", "week", "month"]


class CohortQuery(RangeQuery):
    """What `GET /ltv` and `GET /retention` have in common.

    The range is that of acquisition, by default the 12 full ISO weeks before the current one.
    """

    needed: ClassVar = ()
    granularity: Granularity | None = Field(default=None, description="Size of cohorts; default by range.")
    periods: Annotated[int, Clamp(0, 52)] = Field(
        12, description="Highest period; at most 31 days, 52 weeks or 24 months."
    )
    cohort_by: Literal["first_seen", "first_conversion"] = "first_seen"
    include_partial: bool = Field(default=False, description="Add the running period of each cohort.")
    utm_source: str | None = Field(default=None, description="Of the person's first touch, exact.")
    utm_campaign: str | None = Field(default=None, description="Of the person's first touch, exact.")
    channel: str | None = Field(default=None, description="Of the person's first touch, exact.")
    country: str | None = Field(default=None, description="Of the person's first touch, exact.")

    def asked(self, who: Caller) -> Range:
        """The acquisition range."""
        if self.start_date is None and self.end_date is None:
            return default_range(who.workspace.zone, who.now)
        return super().asked(who)

    def unit(self, asked: Range) -> Unit:
        """The size of cohorts."""
        if self.granularity is not None:
            return Unit(self.granularity)
        return Unit.WEEK if self.start_date is None else unit_for(asked)

    def first_touch(self) -> tuple[Predicate, ...]:
        """What the person's first touch has to be like."""
        columns = ("utm_source", "utm_campaign", "channel", "country")
        return tuple(exactly(column, value) for column in columns if (value := getattr(self, column)))

    def periods_of(self, asked: Range) -> Periods:
        """The cohorts and periods to show."""
        return Periods.of(asked, self.unit(asked), self.periods, with_running=self.include_partial)

    def plan(self, who: Caller, asked: Range, periods: Periods) -> CohortPlan:
        """The question to the store."""
        return CohortPlan(
            scan=scan_of(who, asked.span, include_bots=self.include_bots),
            acquisition=periods.acquisition,
            activity=periods.shown,
            by_conversion=self.cohort_by == "first_conversion",
            first_touch=self.first_touch(),
        )


class RetentionQuery(CohortQuery):
    """Parameters of `GET /retention`."""

    event_name: str | None = Field(default=None, description="What makes a person active; default any event.")
    mode: Literal["on", "on_or_after"] = "on"

    def plan(self, who: Caller, asked: Range, periods: Periods) -> CohortPlan:
        """The question to the store, with what makes a person active."""
        names = same_as(self.event_name) if self.event_name else None
        activity = periods.shown if self.mode == "on" else periods.activity
        return replace(super().plan(who, asked, periods), event_names=names, activity=activity)


class RetentionRow(Answer):
    """A cohort in one of its periods; period 0 is its own."""

    cohort_start: date
    cohort_size: int
    period: int
    period_start: date
    active_persons: int
    retention_rate: Decimal | None
    revenue: Decimal | None
    partial: bool


class RetentionAverage(Answer):
    """A period, pooled over the cohorts that have reached it."""

    period: int
    retention_rate: Decimal | None
    cohorts: int


class Retention(Answer):
    """Whether people come back."""

    granularity: Granularity
    timezone: str
    rows: list[RetentionRow]
    averages: list[RetentionAverage]
    currency: str
    range: RangeAnswer
    complete: bool


class LifetimeValueRow(Answer):
    """What a cohort is worth by the end of one of its periods."""

    cohort_start: date
    cohort_size: int
    period: int
    period_start: date
    revenue: Decimal | None
    cumulative_revenue: Decimal | None
    cumulative_revenue_per_person: Decimal | None
    partial: bool


class LifetimeValue(Answer):
    """What people are worth over time."""

    granularity: Granularity
    timezone: str
    rows: list[LifetimeValueRow]
    currency: str
    range: RangeAnswer
    complete: bool


@operation("GET /retention", tag="people")
async def get_retention(
    query: RetentionQuery, *, who: Caller, cohorts: Cohorts, rated: Rated, queue: IngestQueue
) -> Retention:
    """Whether the people of a period come back, by the period of their first event or conversion.

    One row for each cohort and period that has fully elapsed. ``on_or_after`` counts a person that
    came in the period or any later one.
    """
    asked = query.asked(who)
    periods = query.periods_of(asked)
    found = cells(await _table(query.plan(who, asked, periods), cohorts, rated), periods)
    late = query.mode == "on_or_after"
    return Retention(
        granularity=periods.acquisition.unit.value,
        timezone=asked.zone.key,
        rows=[
            RetentionRow(
                cohort_start=periods.day(cell.cohort),
                cohort_size=cell.size,
                period=cell.period,
                period_start=periods.day(cell.cohort + cell.period),
                active_persons=_active(cell, late=late),
                retention_rate=ratio(_active(cell, late=late), cell.size),
                revenue=money(cell.revenue, who.workspace.currency),
                partial=cell.running,
            )
            for cell in found
        ],
        averages=_averages(found, late=late),
        currency=who.workspace.currency,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


@operation("GET /ltv", tag="people")
async def get_lifetime_value(
    query: CohortQuery, *, who: Caller, cohorts: Cohorts, rated: Rated, queue: IngestQueue
) -> LifetimeValue:
    """What the people of a period have been worth since, by the period of their first event or conversion.

    Net revenue, over all persons of the cohort, payers or not. One row for each cohort and period
    that has fully elapsed; there are no forecasts.
    """
    asked = query.asked(who)
    periods = query.periods_of(asked)
    found = cells(await _table(query.plan(who, asked, periods), cohorts, rated), periods)
    currency = who.workspace.currency
    return LifetimeValue(
        granularity=periods.acquisition.unit.value,
        timezone=asked.zone.key,
        rows=[
            LifetimeValueRow(
                cohort_start=periods.day(cell.cohort),
                cohort_size=cell.size,
                period=cell.period,
                period_start=periods.day(cell.cohort + cell.period),
                revenue=money(cell.revenue, currency),
                cumulative_revenue=money(so_far, currency),
                cumulative_revenue_per_person=money_per(so_far, cell.size, currency),
                partial=cell.running,
            )
            for cell, so_far in _cumulated(found)
        ],
        currency=currency,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


async def _table(plan: CohortPlan, cohorts: Cohorts, rated: Rated) -> CohortTable:
    """The cohorts, with their money in the currency of the workspace as far as there are rates."""
    whole = Span(plan.activity.starts[0], plan.activity.end) if plan.activity.starts else plan.scan.span

    def asked(scan: Scan) -> Awaitable[CohortTable]:
        return cohorts.cohorts(replace(plan, scan=replace(plan.scan, rates=scan.rates)))

    return await rated.ask(
        replace(plan.scan, span=whole), asked, lambda table: any(cell.foreign_money for cell in table.cells)
    )


def _active(cell: Cell, *, late: bool) -> int:
    return cell.returned if late else cell.active


def _averages(found: Sequence[Cell], *, late: bool) -> list[RetentionAverage]:
    elapsed = [cell for cell in found if not cell.running]
    by_period = {
        period: [cell for cell in elapsed if cell.period == period]
        for period in sorted({cell.period for cell in elapsed})
    }
    return [
        RetentionAverage(
            period=period,
            retention_rate=ratio(sum(_active(cell, late=late) for cell in group), sum(c.size for c in group)),
            cohorts=len(group),
        )
        for period, group in by_period.items()
    ]


def _cumulated(found: Sequence[Cell]) -> list[tuple[Cell, int | None]]:
    """Each cell with the revenue of its cohort so far; unknown from the first unknown period on."""
    rows: list[tuple[Cell, int | None]] = []
    for _, cohort in groupby(found, key=lambda cell: cell.cohort):
        line = list(cohort)
        sums = accumulate(
            (cell.revenue for cell in line), lambda a, b: None if a is None or b is None else a + b
        )
        rows += zip(line, sums, strict=True)
    return rows


OPERATIONS = (get_retention, get_lifetime_value)
