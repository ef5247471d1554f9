"""`GET /realtime`: the last minutes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.ports import ActiveVisitor, EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, ResultRow, SortKey
from service_core.analytics.query.result_values import as_counts, to_json_numbers
from service_core.analytics.query.segments import compile_conditions_on_single_events
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.money import to_major
from service_core.kernel.null_reasons import (
    LISTED_BY_OPERATION,
    NULL_FIELD_REASONS,
    WITHOUT_RATE,
    ListsNullReasons,
    UnavailableMetric,
)
from service_core.kernel.operations import operation
from service_core.kernel.schemas import QueryModel, ResponseModel
from service_core.kernel.time_ranges import BucketUnit, ResolvedRange, TimeRange

WINDOW_MINUTES: Final = 5
TIMELINE_MINUTES: Final = 30
MAX_VISITORS: Final = 50
_VISIT_METRICS: Final = ("visitors", "pageviews", "events")
_METRICS: Final = (*_VISIT_METRICS, "revenue")
_EVENT_COLUMNS: Final = (
    "visitor_id", "user_id", "session_id", "page_path", "page_title", "referrer", "attribution_source",
    "channel", "country", "region", "city", "device_type", "browser", "os",
)  # fmt: skip


class RealtimeQuery(QueryModel):
    """Parameters of `GET /realtime`."""

    include_bots: bool = Field(default=False, description="Count events of bots, too.")
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")


class RealtimeVisitor(ResponseModel):
    """An active visitor: values of the latest event, and totals of the last 5 minutes."""

    visitor_id: str
    user_id: str | None
    session_id: str
    page_path: str | None
    page_title: str | None
    referrer: str | None
    attribution_source: str | None
    channel: str | None
    country: str | None
    region: str | None
    city: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    pageviews: int
    events: int
    revenue: Annotated[float | None, WITHOUT_RATE]
    first_seen: datetime
    last_seen: datetime


class RealtimeBucket(ResponseModel):
    """One minute."""

    timestamp: datetime
    visitors: int
    pageviews: int
    events: int
    revenue: Annotated[float | None, LISTED_BY_OPERATION]


class Realtime(ListsNullReasons):
    """``active_visitors`` and ``visitors`` cover the last 5 minutes, everything else the last 30.

    ``revenue`` is null for a segment: payments have no visit.
    """

    active_visitors: int
    pageviews: int
    events: int
    revenue: Annotated[float | None, LISTED_BY_OPERATION]
    visitors: list[RealtimeVisitor]
    timeline: list[RealtimeBucket]
    currency: str
    window_minutes: int
    timeline_minutes: int
    unavailable: list[UnavailableMetric] = NULL_FIELD_REASONS
    complete: bool


@operation("GET /realtime", tag="traffic")
async def get_realtime(
    query: RealtimeQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
    event_reader: EventReader,
    converter: CurrencyConverter,
) -> Realtime:
    """Returns the active visitors, and the events of the last half hour by minute."""
    now, bots = caller.now, query.include_bots
    recent = ResolvedRange(
        TimeRange(now - timedelta(minutes=WINDOW_MINUTES), now + _NOW), caller.workspace.zone, now
    )
    metrics = _METRICS if query.segment_id is None else _VISIT_METRICS
    segment = await queries.read_segment_filters(caller, query.segment_id, metrics)
    conditions = compile_conditions_on_single_events(queries.catalog, segment)
    half_hour = _current_and_29_previous_minutes(caller)
    snapshot = await queries.read_source_states_once(caller, metrics)
    active, totals, timeline, live = await gather_or_cancel(
        queries.execute_marking_unfit_credits_unavailable(
            caller, MetricQuery(("visitors",), recent, filters=segment, include_bots=bots), snapshot
        ),
        queries.execute_marking_unfit_credits_unavailable(
            caller, MetricQuery(metrics, half_hour, filters=segment, include_bots=bots), snapshot
        ),
        queries.execute_marking_unfit_credits_unavailable(
            caller, _build_per_minute_query(metrics, half_hour, segment, include_bots=bots), snapshot
        ),
        converter.run_and_repeat_with_missing_rates(
            scope_for_caller(caller, recent.span, filters=conditions, include_bots=bots),
            lambda scope: event_reader.list_visitors_with_recently_received_events(
                scope, recent.span.start, MAX_VISITORS
            ),
            lambda visitors: any(visitor.revenue is None for visitor in visitors),
        ),
    )
    currency = caller.workspace.currency
    total = _build_counts_and_revenue(totals.rows[0], queries, currency)
    minutes = [
        RealtimeBucket(timestamp=row.bucket, **_build_counts_and_revenue(row, queries, currency))
        for row in timeline.rows
        if row.bucket
    ]
    return Realtime(
        active_visitors=as_counts(active.rows[0])[0],
        pageviews=total["pageviews"],
        events=total["events"],
        revenue=total["revenue"],
        visitors=[_build_active_visitor(visitor, currency) for visitor in live],
        timeline=minutes,
        currency=currency,
        window_minutes=WINDOW_MINUTES,
        timeline_minutes=TIMELINE_MINUTES,
        unavailable=_reasons_of_null_revenue(
            [total["revenue"], *(minute.revenue for minute in minutes)], metrics
        ),
        complete=snapshot.is_complete_without_failed_source(half_hour, metrics),
    )


def _build_counts_and_revenue(row: ResultRow, queries: MetricQueries, currency: str) -> dict[str, Any]:
    """Returns the counts of a row and its revenue; null where it was not read, as payments belong to no segment."""
    visitors, pageviews, events = as_counts(row)[: len(_VISIT_METRICS)]
    has_revenue = len(row.values) > len(_VISIT_METRICS)
    revenue = to_json_numbers(row, queries.metrics_by_id(_METRICS), currency)[-1] if has_revenue else None
    return {"visitors": visitors, "pageviews": pageviews, "events": events, "revenue": revenue}


def _reasons_of_null_revenue(
    amounts: Sequence[float | None], metrics: Sequence[str]
) -> list[UnavailableMetric]:
    """Returns why revenue is null, where it is: it was not read for a segment, or lacks an exchange rate."""
    if None not in amounts:
        return []
    reason = UnavailableReason.MISSING_FX_RATE if metrics == _METRICS else UnavailableReason.INSUFFICIENT_DATA
    return [UnavailableMetric(metric="revenue", reason=reason)]


_NOW: Final = timedelta.resolution
"""Makes the end of the range inclusive: an event of this instant counts."""


def _current_and_29_previous_minutes(caller: Caller) -> ResolvedRange:
    """Returns the current minute and the 29 before it."""
    end = caller.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return ResolvedRange(
        TimeRange(end - timedelta(minutes=TIMELINE_MINUTES), end), caller.workspace.zone, caller.now
    )


def _build_per_minute_query(
    metrics: tuple[str, ...],
    date_range: ResolvedRange,
    segment: tuple[DimensionFilter, ...],
    *,
    include_bots: bool,
) -> MetricQuery:
    minutes = buckets_covering(date_range.span, BucketUnit.MINUTE, date_range.zone)
    by_time = SortKey("bucket", descending=False)
    return MetricQuery(
        metrics,
        date_range,
        filters=segment,
        buckets=minutes,
        order=(by_time,),
        include_bots=include_bots,
    )


def _build_active_visitor(visitor: ActiveVisitor, currency: str) -> RealtimeVisitor:
    return RealtimeVisitor(
        **{column: getattr(visitor.latest_event, column) for column in _EVENT_COLUMNS},
        pageviews=visitor.pageviews,
        events=visitor.events,
        revenue=None if visitor.revenue is None else float(to_major(visitor.revenue, currency)),
        first_seen=visitor.first_seen,
        last_seen=visitor.last_seen,
    )


OPERATIONS = (get_realtime,)
