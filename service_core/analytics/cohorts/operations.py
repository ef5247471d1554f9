"""`GET /retention` and `GET /ltv`."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import accumulate, groupby
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.cohorts.models import (
    CohortPeriod,
    CohortPeriods,
    build_periods_of_non_empty_cohorts,
    choose_cohort_unit_by_range_length,
    last_12_full_weeks,
)
from service_core.analytics.cohorts.ports import CohortReader, CohortReaderQuery, CohortResult
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.freshness import is_range_complete
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.measures import Condition, Predicate
from service_core.analytics.ports import EventReader, QueryScope
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.parse_filters import equals_label_or_is_not_set
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.event_name_check import EventNameMeta, check_event_names
from service_core.analytics.rounding import round_ratio, rounded_amount_per_unit_or_none, to_decimal_amount
from service_core.analytics.scope import scope_for_caller
from service_core.ingestion.ports import IngestQueue
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
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import BucketUnit, ResolvedRange, TimeRange

Granularity = Literal["day", "week", "month"]


class CohortQuery(RangeQuery):
    """Parameters that `GET /ltv` and `GET /retention` share.

    The range is that of acquisition; the default is the 12 full ISO weeks before the current one.
    """

    required_params: ClassVar = ()
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
    segment_id: UUID | None = Field(
        default=None,
        description="A segment, whose filters the event, or conversion, meets that acquired the person.",
    )

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the 12 full ISO weeks before the current one."""
        return last_12_full_weeks(caller.workspace.zone, caller.now)

    def requested_or_suitable_unit(self, date_range: ResolvedRange) -> BucketUnit:
        """Returns the cohort size."""
        if self.granularity is not None:
            return BucketUnit(self.granularity)
        return BucketUnit.WEEK if self.start_date is None else choose_cohort_unit_by_range_length(date_range)

    def filters_of_set_first_touch_params(self) -> tuple[Predicate, ...]:
        """Returns the conditions on the first touch of a person."""
        columns = ("utm_source", "utm_campaign", "channel", "country")
        return tuple(
            equals_label_or_is_not_set(column, value)
            for column in columns
            if (value := getattr(self, column))
        )

    def cohort_periods(self, date_range: ResolvedRange) -> CohortPeriods:
        """Returns the cohorts and periods to show."""
        return CohortPeriods.for_range_clamped_to_data_and_unit_limit(
            date_range,
            self.requested_or_suitable_unit(date_range),
            self.periods,
            include_partial=self.include_partial,
        )

    def to_cohort_reader_query(
        self,
        caller: Caller,
        date_range: ResolvedRange,
        periods: CohortPeriods,
        segment: Sequence[Condition] = (),
    ) -> CohortReaderQuery:
        """Returns the query to the event store.

        Args:
            caller: whose workspace is read.
            date_range: the range of acquisition.
            periods: the cohorts and their periods.
            segment: the conditions of the segment.
        """
        return CohortReaderQuery(
            scope=scope_for_caller(caller, date_range.span, include_bots=self.include_bots),
            acquisition=periods.acquisition,
            activity=periods.activity_buckets_within_max_period,
            by_conversion=self.cohort_by == "first_conversion",
            first_touch_filters=self.filters_of_set_first_touch_params(),
            acquisition_filters=tuple(segment),
        )


class RetentionQuery(CohortQuery):
    """Parameters of `GET /retention`."""

    event_name: str | None = Field(default=None, description="What makes a person active; default any event.")
    mode: Literal["on", "on_or_after"] = "on"

    def to_cohort_reader_query(
        self,
        caller: Caller,
        date_range: ResolvedRange,
        periods: CohortPeriods,
        segment: Sequence[Condition] = (),
    ) -> CohortReaderQuery:
        """Returns the query to the event store, with the events that make a person active."""
        names = list_event_synonyms(self.event_name) if self.event_name else None
        activity = periods.activity_buckets_within_max_period if self.mode == "on" else periods.activity
        return replace(
            super().to_cohort_reader_query(caller, date_range, periods, segment),
            event_names=names,
            activity=activity,
        )


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


class Retention(ListsNullReasons):
    """Retention by cohort and period."""

    granularity: Granularity
    timezone: str
    rows: list[RetentionRow]
    averages: list[RetentionAverage]
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


class LifetimeValue(ListsNullReasons):
    """Lifetime value by cohort and period."""

    granularity: Granularity
    timezone: str
    rows: list[LifetimeValueRow]
    currency: str
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    range: RangeResponse
    complete: bool


@operation("GET /retention", tag="people")
async def get_retention(
    query: RetentionQuery,
    *,
    caller: Caller,
    cohort_reader: CohortReader,
    event_reader: EventReader,
    converter: CurrencyConverter,
    queue: IngestQueue,
    queries: MetricQueries,
) -> Retention:
    """Shows how many people of a cohort come back, by the period of their first event or conversion.

    One row per cohort and elapsed period. ``on_or_after`` counts a person who came back in the period or any
    later one. ``meta.warnings`` says whether ``event_name`` was never seen.
    """
    date_range = query.resolve_range_or_default(caller)
    periods = query.cohort_periods(date_range)
    segment = await queries.read_segment_event_conditions(caller, query.segment_id)
    cohort_periods = build_periods_of_non_empty_cohorts(
        await _read_cohorts_with_converted_money(
            query.to_cohort_reader_query(caller, date_range, periods, segment), cohort_reader, converter
        ),
        periods,
    )
    on_or_after = query.mode == "on_or_after"
    return Retention(
        granularity=periods.acquisition.unit.value,
        timezone=date_range.zone.key,
        rows=[
            RetentionRow(
                cohort_start=periods.start_date(row.cohort),
                cohort_size=row.size,
                period=row.period,
                period_start=periods.start_date(row.cohort + row.period),
                active_persons=_count_active_persons(row, on_or_after=on_or_after),
                retention_rate=round_ratio(_count_active_persons(row, on_or_after=on_or_after), row.size),
                revenue=to_decimal_amount(row.revenue, caller.workspace.currency),
                partial=row.is_partial,
            )
            for row in cohort_periods
        ],
        averages=_pooled_retention_by_elapsed_period(cohort_periods, on_or_after=on_or_after),
        currency=caller.workspace.currency,
        range=RangeResponse.from_range(date_range),
        complete=await is_range_complete(queue, date_range),
        meta=await check_event_names(event_reader, caller, [query.event_name] if query.event_name else []),
    )


@operation("GET /ltv", tag="people", tool="get_ltv", tool_title="Lifetime value")
async def get_lifetime_value(
    query: CohortQuery,
    *,
    caller: Caller,
    cohort_reader: CohortReader,
    converter: CurrencyConverter,
    queue: IngestQueue,
    queries: MetricQueries,
) -> LifetimeValue:
    """Shows the net revenue of cohorts since acquisition, by the period of the first event or conversion.

    Averages cover all persons of the cohort, paying or not. One row per cohort and elapsed period; there are
    no forecasts.
    """
    date_range = query.resolve_range_or_default(caller)
    periods = query.cohort_periods(date_range)
    segment = await queries.read_segment_event_conditions(caller, query.segment_id)
    cohort_periods = build_periods_of_non_empty_cohorts(
        await _read_cohorts_with_converted_money(
            query.to_cohort_reader_query(caller, date_range, periods, segment), cohort_reader, converter
        ),
        periods,
    )
    currency = caller.workspace.currency
    return LifetimeValue(
        granularity=periods.acquisition.unit.value,
        timezone=date_range.zone.key,
        rows=[
            LifetimeValueRow(
                cohort_start=periods.start_date(row.cohort),
                cohort_size=row.size,
                period=row.period,
                period_start=periods.start_date(row.cohort + row.period),
                revenue=to_decimal_amount(row.revenue, currency),
                cumulative_revenue=to_decimal_amount(so_far, currency),
                cumulative_revenue_per_person=rounded_amount_per_unit_or_none(so_far, row.size, currency),
                partial=row.is_partial,
            )
            for row, so_far in _with_cumulative_cohort_revenue_until_unknown(cohort_periods)
        ],
        currency=currency,
        range=RangeResponse.from_range(date_range),
        complete=await is_range_complete(queue, date_range),
    )


async def _read_cohorts_with_converted_money(
    query: CohortReaderQuery, cohort_reader: CohortReader, converter: CurrencyConverter
) -> CohortResult:
    """Returns the cohorts with money converted to the currency of the workspace, as far as rates exist."""
    span = (
        TimeRange(query.activity.starts[0], query.activity.end) if query.activity.starts else query.scope.span
    )

    def read_in_scope(scope: QueryScope) -> Awaitable[CohortResult]:
        return cohort_reader.read_cohorts(replace(query, scope=replace(query.scope, rates=scope.rates)))

    return await converter.run_and_repeat_with_missing_rates(
        replace(query.scope, span=span),
        read_in_scope,
        lambda result: any(cell.foreign_money for cell in result.cells),
    )


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
