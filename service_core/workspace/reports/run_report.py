"""Runs saved reports with the read operation that each stands for, so a metric has one value everywhere."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.operations import FunnelQuery, FunnelResponse, get_funnel
from service_core.analytics.funnels.ports import FunnelReader
from service_core.analytics.ports import EventReader
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.schemas import Compare, FilterBody
from service_core.analytics.query.shared_snapshot import SharedQueueState, SharedSnapshotQueries
from service_core.analytics.reads.breakdowns import (
    BreakdownQuery,
    DevicesQuery,
    LocationsQuery,
    TrafficQuery,
    get_devices,
    get_locations,
    get_traffic,
)
from service_core.analytics.reads.metric_values import (
    MetricsRequest,
    post_metrics,
    resolve_range_reading_first_event_for_all_time,
)
from service_core.analytics.reads.query.operations import post_query
from service_core.analytics.reads.query.response import QueryResponse
from service_core.analytics.reads.query.schemas import QueryRequest, SavedQuery
from service_core.analytics.reads.query.top_groups import TopBody
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.bucket_series import (
    MAX_BUCKETS,
)
from service_core.kernel.date_range import DateRange, RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import Operation
from service_core.kernel.time_ranges import ResolvedRange
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.schemas import (
    ChartData,
    ChartPoint,
    ReportRun,
    ReportSummary,
    RunData,
    RunReport,
    SkippedFilter,
    SkipReason,
)

CHARTED_GROUPS: Final = 5
"""Largest groups of a series by dimension, unless its plan has ``top``."""

_WITHOUT_SERIES: Final = ("number", "pie")
_BREAKDOWNS: Final[Mapping[str, tuple[type[BreakdownQuery], Operation]]] = {
    **dict.fromkeys(("referrer", "campaign", "page"), (TrafficQuery, get_traffic)),
    **dict.fromkeys(("browser", "os", "device"), (DevicesQuery, get_devices)),
    **dict.fromkeys(("country", "region", "city"), (LocationsQuery, get_locations)),
}


_RunResult = tuple[RunData, RangeResponse, bool]
"""Data of a read, the range it covers, and whether it is complete."""


@dataclass(frozen=True, slots=True)
class ReportRunner:
    """Runs saved reports. The attributes are the dependencies of the read operations."""

    queries: MetricQueries
    models: AttributionModels
    event_reader: EventReader
    funnel_reader: FunnelReader
    freshness: EventFreshness

    def for_one_request(self) -> Self:
        """Returns a runner whose reads share one snapshot of the sources; to be used for one request."""
        queries = SharedSnapshotQueries(
            self.queries.catalog,
            self.queries.sources,
            self.queries.segments,
            self.queries.unmeasured_platforms,
        )
        return replace(
            self,
            queries=queries,
            freshness=replace(self.freshness, queue=SharedQueueState(self.freshness.queue)),
        )

    async def run_with_supported_filters(
        self, caller: Caller, report: Report, request: RunReport
    ) -> ReportRun:
        """Returns the data of a report.

        Args:
            caller: whose workspace is read, and the present.
            report: a report of that workspace.
            request: a range that replaces the one of the report, and further filters, which are validated.

        Raises:
            BadRequest: ``invalid_date_range``, ``invalid_cursor``, or a metric that is not installed any more.
            ServiceUnavailable: the data cannot be read, or not in time.
        """
        accepted, skipped = split_supported_filters(report, request.filters, self.queries.catalog)
        data, over, complete = await self._run_plan_breakdown_funnel_or_chart(
            caller, report, request, accepted
        )
        return ReportRun(
            report=ReportSummary.from_report(report),
            range=over,
            data=data,
            filters_skipped=skipped,
            complete=complete,
        )

    async def _run_plan_breakdown_funnel_or_chart(
        self, caller: Caller, report: Report, request: RunReport, accepted_filters: Sequence[FilterBody]
    ) -> _RunResult:
        if report.plan is not None:
            answer = await self._run_query(
                caller, _build_query_request(report, report.plan, request, accepted_filters)
            )
            return answer, answer.meta.resolved.date_range, answer.meta.complete
        if request.cursor is not None:
            raise BadRequest("Only reports with a plan have pages", "invalid_cursor", field="cursor")
        date_range = await resolve_range_reading_first_event_for_all_time(
            request.date_range or report.default_range, caller, self.event_reader
        )
        if report.dimension is not None:
            rows = await self._run_breakdown(caller, report, date_range, request.limit)
            return rows, rows.range, rows.complete
        if report.steps is not None:
            funnel = await self._run_funnel(caller, report, date_range)
            return funnel, funnel.range, funnel.complete
        return await self._run_metric_and_series(caller, report, date_range, request.compare)

    async def _run_query(self, caller: Caller, request: QueryRequest) -> QueryResponse:
        answer: QueryResponse = await post_query(
            request, caller=caller, queries=self.queries, models=self.models, event_reader=self.event_reader
        )
        return answer

    async def _run_funnel(self, caller: Caller, report: Report, date_range: ResolvedRange) -> FunnelResponse:
        query = FunnelQuery.model_validate(
            {
                **_date_parameters(date_range),
                "steps": [json.dumps(report.steps)],
                "window_days": report.window_days,
                "order": report.order,
                "unit": report.unit,
            }
        )
        answer: FunnelResponse = await get_funnel(
            query,
            caller=caller,
            funnel_reader=self.funnel_reader,
            event_reader=self.event_reader,
            freshness=self.freshness,
            queries=self.queries,
        )
        return answer

    async def _run_breakdown(
        self, caller: Caller, report: Report, date_range: ResolvedRange, limit: int | None
    ) -> Any:
        model, read = _BREAKDOWNS[report.dimension or ""]
        options = {"type": report.dimension, "metric": report.metric_id, "limit": limit}
        sent = {name: value for name, value in options.items() if value is not None}
        query = model.model_validate({**_date_parameters(date_range), **sent})
        return await read(query, caller=caller, queries=self.queries)

    async def _run_metric_and_series(
        self, caller: Caller, report: Report, date_range: ResolvedRange, compare: Compare
    ) -> _RunResult:
        metrics, over = [report.metric_id or ""], to_explicit_range(date_range)
        request = MetricsRequest(metrics=metrics, date_range=over, compare=compare)
        values, points = await gather_or_cancel(
            post_metrics(
                request,
                caller=caller,
                queries=self.queries,
                models=self.models,
                event_reader=self.event_reader,
            ),
            self._run_series(caller, metrics, date_range)
            if report.chart not in _WITHOUT_SERIES
            else _no_series(),
        )
        return ChartData(metric=values.metrics[0], series=points), values.range, values.complete

    async def _run_series(
        self, caller: Caller, metrics: list[str], date_range: ResolvedRange
    ) -> list[ChartPoint]:
        over = to_explicit_range(date_range)
        request = QueryRequest(metrics=metrics, date_range=over, interval="auto", limit=MAX_BUCKETS)
        answer = await self._run_query(caller, request)
        return [
            ChartPoint(
                timestamp=row["bucket"], date=row["date"], value=row[metrics[0]], partial=row["partial"]
            )
            for row in answer.rows
            if isinstance(row, dict)
        ]


def split_supported_filters(
    report: Report, filters: Sequence[FilterBody], catalog: Catalog
) -> tuple[list[FilterBody], list[SkippedFilter]]:
    """Returns the filters that a report accepts, and those it skips with the reason."""
    accepted, skipped = [], []
    for condition in filters:
        reason = _unsupported_dimension_reason(report, condition.dimension, catalog)
        if reason is None:
            accepted.append(condition)
        else:
            skipped.append(SkippedFilter(dimension=condition.dimension, reason=reason))
    return accepted, skipped


def _build_query_request(
    report: Report, plan: SavedQuery, request: RunReport, accepted_filters: Sequence[FilterBody]
) -> QueryRequest:
    options: dict[str, Any] = {"compare": request.compare, "cursor": request.cursor}
    if request.limit is not None:
        options |= {"limit": request.limit, "top": None}
    elif request.cursor is None:
        options |= _options_for_complete_series(plan)
    return plan.to_request_with_more_filters(
        request.date_range or report.default_range, extra_filters=accepted_filters, **options
    )


def _options_for_complete_series(plan: SavedQuery) -> dict[str, Any]:
    """Returns the fields of the request with which no line of a series ends where a page of rows would."""
    if plan.interval is None or plan.top is not None:
        return {}
    if not plan.dimensions:
        return {} if "limit" in plan.model_fields_set else {"limit": MAX_BUCKETS}
    return {"top": TopBody(limit=CHARTED_GROUPS, other=len(set(plan.dimensions)) == 1)}


def to_explicit_range(date_range: ResolvedRange) -> DateRange:
    """Returns a resolved range with explicit bounds, so that several reads cover the same instants."""
    return DateRange(
        from_=format_timestamp(date_range.span.start), to=format_timestamp(date_range.inclusive_end)
    )


def _unsupported_dimension_reason(report: Report, dimension: str, catalog: Catalog) -> SkipReason | None:
    """Returns why a report cannot be filtered by a dimension: a catalog report, a funnel, or a metric without it."""
    if report.source == "catalog":
        return "catalog_report"
    if report.plan is None:
        return "funnel_report"
    metrics = (catalog.metrics.get(id_) for id_ in report.plan.metrics)
    accepted = all(metric is None or metric.accepts(dimension) for metric in metrics)
    return None if accepted else "dimension_not_accepted"


def _date_parameters(date_range: ResolvedRange) -> dict[str, str]:
    return {
        "start_date": format_timestamp(date_range.span.start),
        "end_date": format_timestamp(date_range.inclusive_end),
    }


async def _no_series() -> None:
    return None
