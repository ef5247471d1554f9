"""`GET /retention` and `GET /ltv`."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import accumulate, groupby
from typing import Annotated, Any

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.cohorts.cohort_read import CohortRead
from service_core.analytics.cohorts.models import CohortPeriod
from service_core.analytics.cohorts.ports import CohortReader
from service_core.analytics.cohorts.schemas import CohortQuery, Granularity, RetentionQuery
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.ports import EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.reads.event_name_check import (
    EventNameMeta,
    read_event_name_warnings_and_suggestions,
)
from service_core.analytics.rounding import round_ratio, rounded_amount_per_unit_or_none, to_decimal_amount
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import (
    KNOWN_NULL,
    NULL_FIELD_REASONS,
    WITHOUT_RATE,
    ListsNullReasons,
    NullReason,
    UnavailableMetric,
)
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel


class RetentionRow(ResponseModel):
    """A cohort in one of its periods; period 0 is the acquisition period."""

    cohort_start: date
    cohort_size: int
    period: int
    period_start: date
    active_persons: int
    retention_rate: Annotated[Decimal | None, KNOWN_NULL]
    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    partial: bool


class RetentionAverage(ResponseModel):
    """One period, pooled over the cohorts that have reached it."""

    period: int
    retention_rate: Annotated[Decimal | None, KNOWN_NULL]
    cohorts: int


class RetentionGroup(ResponseModel):
    """Retention of the persons acquired with one value of the breakdown."""

    value: str
    is_other: bool = Field(description="Whether it is the group of all other values.")
    persons: int
    rows: list[RetentionRow]
    averages: list[RetentionAverage]


class Retention(ListsNullReasons):
    """Retention by cohort and period, and that of each group of a breakdown."""

    granularity: Granularity
    timezone: str
    rows: list[RetentionRow]
    averages: list[RetentionAverage]
    breakdown: str | None = Field(default=None, description="The dimension of the groups.")
    groups: list[RetentionGroup] = Field(default=[], description="The largest first.")
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool
    meta: EventNameMeta


class LifetimeValueRow(ResponseModel):
    """Revenue of a cohort up to the end of one of its periods."""

    cohort_start: date
    cohort_size: int
    period: int
    period_start: date
    revenue: Annotated[Decimal | None, WITHOUT_RATE]
    cumulative_revenue: Annotated[Decimal | None, WITHOUT_RATE]
    cumulative_revenue_per_person: Annotated[
        Decimal | None, NullReason(UnavailableReason.MISSING_FX_RATE, computed_from=("cumulative_revenue",))
    ]
    partial: bool


class LifetimeValueGroup(ResponseModel):
    """Lifetime value of the persons acquired with one value of the breakdown."""

    value: str
    is_other: bool = Field(description="Whether it is the group of all other values.")
    persons: int
    rows: list[LifetimeValueRow]


class LifetimeValue(ListsNullReasons):
    """Lifetime value by cohort and period, and that of each group of a breakdown."""

    granularity: Granularity
    timezone: str
    rows: list[LifetimeValueRow]
    breakdown: str | None = Field(default=None, description="The dimension of the groups.")
    groups: list[LifetimeValueGroup] = Field(default=[], description="The largest first.")
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool


@operation("GET /retention", tag="people", is_aggregate=True)
async def get_retention(
    query: RetentionQuery,
    *,
    caller: Caller,
    cohort_reader: CohortReader,
    event_reader: EventReader,
    converter: CurrencyConverter,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> Retention:
    """Shows how many people of a cohort come back, by the period of their first event or conversion.

    One row per cohort and elapsed period. ``on_or_after`` counts a person who came back in the period or any
    later one. ``meta.warnings`` says whether ``event_name`` was never seen.
    """
    date_range = query.resolve_range_or_default(caller)
    read = await CohortRead.from_validated_request(query, caller, cohort_reader, converter, queries)
    on_or_after = query.mode == "on_or_after"

    def describe(cohorts: Sequence[CohortPeriod]) -> dict[str, Any]:
        return {
            "rows": _build_retention_rows(cohorts, read, on_or_after=on_or_after),
            "averages": _pooled_retention_by_elapsed_period(cohorts, on_or_after=on_or_after),
        }

    return Retention(
        granularity=read.periods.acquisition.unit.value,
        timezone=date_range.zone.key,
        **describe(await read.read_periods_of_non_empty_cohorts()),
        breakdown=query.breakdown,
        groups=[
            RetentionGroup(**group.identity, **describe(group.cohorts))
            for group in await read.read_non_empty_groups_largest_first()
        ],
        currency=caller.workspace.currency,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
        meta=await read_event_name_warnings_and_suggestions(
            event_reader, caller, [query.event_name] if query.event_name else []
        ),
    )


@operation("GET /ltv", tag="people", tool="get_ltv", tool_title="Lifetime value", is_aggregate=True)
async def get_lifetime_value(
    query: CohortQuery,
    *,
    caller: Caller,
    cohort_reader: CohortReader,
    converter: CurrencyConverter,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> LifetimeValue:
    """Shows the net revenue of cohorts since acquisition, by the period of the first event or conversion.

    Averages cover all persons of the cohort, paying or not. One row per cohort and elapsed period; there are
    no forecasts.
    """
    date_range = query.resolve_range_or_default(caller)
    read = await CohortRead.from_validated_request(query, caller, cohort_reader, converter, queries)
    return LifetimeValue(
        granularity=read.periods.acquisition.unit.value,
        timezone=date_range.zone.key,
        rows=_build_lifetime_value_rows(await read.read_periods_of_non_empty_cohorts(), read),
        breakdown=query.breakdown,
        groups=[
            LifetimeValueGroup(**group.identity, rows=_build_lifetime_value_rows(group.cohorts, read))
            for group in await read.read_non_empty_groups_largest_first()
        ],
        currency=caller.workspace.currency,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _build_retention_rows(
    cohorts: Sequence[CohortPeriod], read: CohortRead, *, on_or_after: bool
) -> list[RetentionRow]:
    return [
        RetentionRow(
            cohort_start=read.periods.start_date(row.cohort),
            cohort_size=row.size,
            period=row.period,
            period_start=read.periods.start_date(row.cohort + row.period),
            active_persons=_count_active_persons(row, on_or_after=on_or_after),
            retention_rate=round_ratio(_count_active_persons(row, on_or_after=on_or_after), row.size),
            revenue=to_decimal_amount(row.revenue, read.currency),
            partial=row.is_partial,
        )
        for row in cohorts
    ]


def _build_lifetime_value_rows(cohorts: Sequence[CohortPeriod], read: CohortRead) -> list[LifetimeValueRow]:
    return [
        LifetimeValueRow(
            cohort_start=read.periods.start_date(row.cohort),
            cohort_size=row.size,
            period=row.period,
            period_start=read.periods.start_date(row.cohort + row.period),
            revenue=to_decimal_amount(row.revenue, read.currency),
            cumulative_revenue=to_decimal_amount(so_far, read.currency),
            cumulative_revenue_per_person=rounded_amount_per_unit_or_none(so_far, row.size, read.currency),
            partial=row.is_partial,
        )
        for row, so_far in _with_cumulative_cohort_revenue_until_unknown(cohorts)
    ]


def _count_active_persons(cell: CohortPeriod, *, on_or_after: bool) -> int:
    return cell.returned if on_or_after else cell.active


def _pooled_retention_by_elapsed_period(
    cohort_periods: Sequence[CohortPeriod], *, on_or_after: bool
) -> list[RetentionAverage]:
    elapsed = [row for row in cohort_periods if not row.is_partial]
    by_period = {
        period: [row for row in elapsed if row.period == period]
        for period in sorted({row.period for row in elapsed})
    }
    return [
        RetentionAverage(
            period=period,
            retention_rate=round_ratio(
                sum(_count_active_persons(row, on_or_after=on_or_after) for row in group),
                sum(row.size for row in group),
            ),
            cohorts=len(group),
        )
        for period, group in by_period.items()
    ]


def _with_cumulative_cohort_revenue_until_unknown(
    cohort_periods: Sequence[CohortPeriod],
) -> list[tuple[CohortPeriod, int | None]]:
    """Returns each row with the revenue of its cohort so far; None from the first unknown period on."""
    rows: list[tuple[CohortPeriod, int | None]] = []
    for _, cohort in groupby(cohort_periods, key=lambda row: row.cohort):
        cohort_rows = list(cohort)
        totals = accumulate(
            (row.revenue for row in cohort_rows), lambda a, b: None if a is None or b is None else a + b
        )
        rows += zip(cohort_rows, totals, strict=True)
    return rows


OPERATIONS = (get_retention, get_lifetime_value)
