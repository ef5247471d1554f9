"""`GET /overview`: totals and a time series."""

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from pydantic import AliasChoices, Field

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, QueryResult, SortKey
from service_core.analytics.query.result_values import as_counts
from service_core.analytics.range_query import RangeQuery
from service_core.ingestion.event_names import PAGE_VIEWS
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.bucket_dates import format_local_date_of_bucket
from service_core.kernel.bucket_series import (
    buckets_started_by_now,
    build_series_of_at_most_1000_buckets,
    choose_bucket_unit_by_range_length,
    cut_or_unfinished_bucket_flags,
)
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import Buckets, BucketUnit, ResolvedRange

_METRICS: Final = ("visitors", "pageviews", "sessions", "custom_events")
_NON_ADDITIVE_METRICS: Final = ("visitors", "sessions")
"""Metrics whose total is not the sum of the series."""

_SIZES: Final = (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.WEEK, BucketUnit.MONTH)


class OverviewQuery(RangeQuery):
    """Parameters of `GET /overview`."""

    aggregation: Literal["auto", "hour", "day", "week", "month"] = Field(
        default="auto",
        validation_alias=AliasChoices("aggregation", "interval", "granularity"),
        description="Bucket size; `auto` suits the range.",
    )

    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")

    def buckets(self, date_range: ResolvedRange) -> Buckets:
        """Returns the buckets of the series."""
        unit = (
            choose_bucket_unit_by_range_length(date_range)
            if self.aggregation == "auto"
            else BucketUnit(self.aggregation)
        )
        return buckets_started_by_now(
            build_series_of_at_most_1000_buckets(date_range, unit, _SIZES), date_range.now
        )


class OverviewBucket(ResponseModel):
    """One bucket; distinct counts of buckets need not add up to the totals."""

    timestamp: datetime
    date: str = Field(description="Local date of its start; of an hour with the time.")
    visitors: int
    pageviews: int
    sessions: int
    custom_events: int
    partial: bool = Field(description="Cut by the range, or not over yet.")


class Overview(ResponseModel):
    """Totals and a time series for a range."""

    visitors_total: int
    pageviews_total: int
    sessions_total: int
    custom_events_total: int
    custom_event_counts: dict[str, int]
    time_series: list[OverviewBucket]
    complete: bool
    aggregation_level: Literal["hour", "day", "week", "month"] = Field(
        description="The size used, never `auto`."
    )
    timezone: str
    range: RangeResponse


@operation("GET /overview", tag="traffic", is_aggregate=True)
async def get_overview(query: OverviewQuery, *, caller: Caller, queries: MetricQueries) -> Overview:
    """Returns totals and a time series for a range.

    Counts visitors, page views, sessions and custom events, and each custom event by its name.
    """
    date_range = query.resolve_range_or_default(caller)
    buckets = query.buckets(date_range)
    segment = await queries.read_segment_filters(caller, query.segment_id, _METRICS)
    base = MetricQuery(_METRICS, date_range, filters=segment, include_bots=query.include_bots)
    snapshot = await queries.read_source_states_once(caller, _METRICS)
    distinct, over_time, by_name = await gather_or_cancel(
        queries.execute_marking_unfit_credits_unavailable(
            caller, replace(base, metrics=_NON_ADDITIVE_METRICS), snapshot
        ),
        queries.execute_marking_unfit_credits_unavailable(
            caller, replace(base, buckets=buckets, order=_BY_TIME), snapshot
        ),
        queries.execute_marking_unfit_credits_unavailable(caller, _as_custom_events_by_name(base), snapshot),
    )
    visitors, sessions = as_counts(distinct.rows[0])
    series = _build_buckets_with_partial_flags(over_time, buckets, date_range)
    return Overview(
        visitors_total=visitors,
        pageviews_total=sum(bucket.pageviews for bucket in series),
        sessions_total=sessions,
        custom_events_total=sum(bucket.custom_events for bucket in series),
        custom_event_counts={row.labels[0]: as_counts(row)[0] for row in by_name.rows},
        time_series=series,
        complete=snapshot.is_complete_without_failed_source(date_range, _METRICS),
        aggregation_level=buckets.unit.value,
        timezone=date_range.zone.key,
        range=RangeResponse.from_range(date_range),
    )


_BY_TIME: Final = (SortKey("bucket", descending=False),)


def _as_custom_events_by_name(base: MetricQuery) -> MetricQuery:
    is_custom = DimensionFilter("event_name", FilterOperator.NOT_IN, tuple(sorted(PAGE_VIEWS)))
    return replace(
        base,
        metrics=("custom_events",),
        dimensions=("event_name",),
        filters=(*base.filters, is_custom),
        order=(SortKey("custom_events"), SortKey("event_name", descending=False)),
    )


def _build_buckets_with_partial_flags(
    result: QueryResult, buckets: Buckets, date_range: ResolvedRange
) -> list[OverviewBucket]:
    return [
        OverviewBucket(
            timestamp=start, date=format_local_date_of_bucket(start, buckets.unit, date_range.zone), visitors=visitors, pageviews=pageviews, sessions=sessions,
            custom_events=custom_events, partial=cut,
        )
        for row, start, cut in zip(result.rows, buckets.starts, cut_or_unfinished_bucket_flags(buckets, date_range), strict=True)
        for visitors, pageviews, sessions, custom_events in (as_counts(row),)
    ]  # fmt: skip


OPERATIONS = (get_overview,)
