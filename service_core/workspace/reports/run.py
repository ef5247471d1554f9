"""Running a report: it is asked through the read it stands for, so a metric has one value everywhere."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service_core.access.model import Caller
from service_core.insight.analytics_query import post_query
from service_core.insight.attribution.model import Models
from service_core.insight.breakdowns import (
    BreakdownQuery,
    DevicesQuery,
    LocationsQuery,
    TrafficQuery,
    get_devices,
    get_locations,
    get_traffic,
)
from service_core.insight.catalog import Catalog
from service_core.insight.funnels.operations import Funnel, FunnelQuery, get_funnel
from service_core.insight.funnels.ports import Funnels
from service_core.insight.metric_values import MetricsRequest, post_metrics, resolved
from service_core.insight.ports import EventLog
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import Compare, FilterBody
from service_core.insight.query_answer import QueryAnswer
from service_core.insight.query_plan import QueryRequest, StoredPlan
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import DateRange, RangeAnswer
from service_core.kernel.errors import BadRequest
from service_core.kernel.instants import wire
from service_core.kernel.operations import Operation
from service_core.kernel.ranges import Range
from service_core.kernel.series import MOST_BUCKETS, auto_unit, elapsed, partial, series
from service_core.kernel.together import together
from service_core.workspace.reports.answers import (
    ChartData,
    ChartPoint,
    ReportRun,
    ReportSummary,
    RunData,
    SkippedFilter,
    SkipReason,
)
from service_core.workspace.reports.bodies import RunReport
from service_core.workspace.reports.model import Report

_WITHOUT_SERIES: Final = ("number", "pie")
_BREAKDOWNS: Final[Mapping[str, tuple[type[BreakdownQuery], Operation]]] = {
    **dict.fromkeys(("referrer", "campaign", "page"), (TrafficQuery, get_traffic)),
    **dict.fromkeys(("browser", "os", "device"), (DevicesQuery, get_devices)),
    **dict.fromkeys(("country", "region", "city"), (LocationsQuery, get_locations)),
}


_Found = tuple[RunData, RangeAnswer, bool]
"""What a read found, over which range, and whether it is complete."""


@dataclass(frozen=True, slots=True)
class ReportRuns:
    """Runs reports; what reads need is what it is made of."""

    questions: Questions
    models: Models
    log: EventLog
    funnels: Funnels
    queue: IngestQueue

    async def run(self, who: Caller, report: Report, wanted: RunReport) -> ReportRun:
        """Run a report for whoever asks.

        Args:
            who: whose workspace it is, and the present.
            report: one of that workspace.
            wanted: what to run it with, in place of its own range and beside its own filters; its
                filters are checked.

        Raises:
            BadRequest: ``invalid_date_range``, ``invalid_cursor``; or what is not installed any more.
            Unavailable503: the data cannot be read, or not in time.
        """
        accepted, skipped = sifted(report, wanted.filters, self.questions.catalog)
        data, over, complete = await self._found(who, report, wanted, accepted)
        return ReportRun(
            report=ReportSummary.of(report),
            range=over,
            data=data,
            filters_skipped=skipped,
            complete=complete,
        )

    async def _found(
        self, who: Caller, report: Report, wanted: RunReport, accepted: Sequence[FilterBody]
    ) -> _Found:
        if report.plan is not None:
            answer = await self._query(who, _request(report, report.plan, wanted, accepted))
            return answer, answer.meta.resolved.date_range, answer.meta.complete
        if wanted.cursor is not None:
            raise BadRequest("Only reports with a plan have pages", "invalid_cursor", field="cursor")
        asked = await resolved(wanted.date_range or report.default_range, who, self.log)
        if report.dimension is not None:
            rows = await self._breakdown(who, report, asked, wanted.limit)
            return rows, rows.range, rows.complete
        if report.steps is not None:
            walked = await self._funnel(who, report, asked)
            return walked, walked.range, walked.complete
        return await self._chart(who, report, asked, wanted.compare)

    async def _query(self, who: Caller, request: QueryRequest) -> QueryAnswer:
        answer: QueryAnswer = await post_query(
            request, who=who, questions=self.questions, models=self.models, log=self.log
        )
        return answer

    async def _funnel(self, who: Caller, report: Report, asked: Range) -> Funnel:
        query = FunnelQuery.model_validate(
            {
                **_dates(asked),
                "steps": [json.dumps(report.steps)],
                "window_days": report.window_days,
                "order": report.order,
                "unit": report.unit,
            }
        )
        answer: Funnel = await get_funnel(query, who=who, funnels=self.funnels, queue=self.queue)
        return answer

    async def _breakdown(self, who: Caller, report: Report, asked: Range, limit: int | None) -> Any:
        model, read = _BREAKDOWNS[report.dimension or ""]
        said = {"type": report.dimension, "metric": report.metric_id, "limit": limit}
        given = {name: value for name, value in said.items() if value is not None}
        query = model.model_validate({**_dates(asked), **given})
        return await read(query, who=who, questions=self.questions)

    async def _chart(self, who: Caller, report: Report, asked: Range, compare: Compare) -> _Found:
        metrics, over = [report.metric_id or ""], fixed(asked)
        request = MetricsRequest(metrics=metrics, date_range=over, compare=compare)
        values, points = await together(
            post_metrics(request, who=who, questions=self.questions, models=self.models, log=self.log),
            self._series(who, metrics, asked) if report.chart not in _WITHOUT_SERIES else _nothing(),
        )
        return ChartData(metric=values.metrics[0], series=points), values.range, values.complete

    async def _series(self, who: Caller, metrics: list[str], asked: Range) -> list[ChartPoint]:
        over = fixed(asked)
        request = QueryRequest(metrics=metrics, date_range=over, interval="auto", limit=MOST_BUCKETS)
        answer = await self._query(who, request)
        buckets = elapsed(series(asked, auto_unit(asked)), asked.now)
        return [
            ChartPoint(timestamp=row["bucket"], value=row[metrics[0]], partial=cut)
            for row, cut in zip(answer.rows, partial(buckets, asked), strict=True)
            if isinstance(row, dict)
        ]


def sifted(
    report: Report, filters: Sequence[FilterBody], catalog: Catalog
) -> tuple[list[FilterBody], list[SkippedFilter]]:
    """The filters a report runs with, and those it runs without."""
    accepted, skipped = [], []
    for condition in filters:
        reason = _reason(report, condition.dimension, catalog)
        if reason is None:
            accepted.append(condition)
        else:
            skipped.append(SkippedFilter(dimension=condition.dimension, reason=reason))
    return accepted, skipped


def _request(
    report: Report, plan: StoredPlan, wanted: RunReport, accepted: Sequence[FilterBody]
) -> QueryRequest:
    said: dict[str, Any] = {"compare": wanted.compare, "cursor": wanted.cursor}
    if wanted.limit is not None:
        said["limit"] = wanted.limit
    return plan.over(wanted.date_range or report.default_range, filters=accepted, **said)


def fixed(asked: Range) -> DateRange:
    """A resolved range as a request says it, so that several reads cover the same instants."""
    return DateRange(from_=wire(asked.span.start), to=wire(asked.last))


def _reason(report: Report, dimension: str, catalog: Catalog) -> SkipReason | None:
    if report.source == "catalog":
        return "catalog_report"
    if report.plan is None:
        return "funnel_report"
    metrics = (catalog.metrics.get(id_) for id_ in report.plan.metrics)
    accepted = all(metric is None or dimension in metric.dimensions for metric in metrics)
    return None if accepted else "dimension_not_accepted"


def _dates(asked: Range) -> dict[str, str]:
    return {"start_date": wire(asked.span.start), "end_date": wire(asked.last)}


async def _nothing() -> None:
    return None
