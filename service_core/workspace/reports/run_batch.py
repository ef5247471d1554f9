"""Runs several reports within one time budget, as dashboards and analyses do."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.ports import QueryTimeout
from service_core.analytics.query.schemas import FilterBody
from service_core.analytics.reads.breakdowns import Breakdown
from service_core.analytics.reads.query.response import QueryResponse
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import ApiError
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_report import ReportRunner, split_supported_filters
from service_core.workspace.reports.schemas import ReportRun, RunReport, SkippedFilter
from service_core.workspace.time_budget import Sleep, gather_within_budget

OutcomeStatus = Literal["ok", "timeout", "error", "missing"]


class OutcomeError(ResponseModel):
    """Why a report could not be run."""

    error: str
    code: str | None


class ReportOutcome(ResponseModel):
    """The outcome of one report of a run."""

    report_id: UUID
    status: OutcomeStatus = Field(
        description="`timeout`: not done when the budget ended; `missing`: the report was deleted."
    )
    result: ReportRun | None
    error: OutcomeError | None
    filters_skipped: list[SkippedFilter]
    truncated: bool = Field(description="Rows were left out to keep to `row_limit`.")
    duration_ms: int

    @property
    def is_final(self) -> bool:
        """Whether another run would give the same: the report has a result, or was deleted."""
        return self.status in ("ok", "missing")


@dataclass(frozen=True, slots=True)
class ReportRunRequest:
    """A report to run in a batch.

    Attributes:
        report: None when it was deleted.
        date_range: None for the report's own range.
        row_limit: rows of the result at most; None for no limit.
    """

    report_id: UUID
    report: Report | None
    date_range: DateRange | None = None
    filters: Sequence[FilterBody] = ()
    row_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ReportBatchRunner:
    """Runs several reports concurrently, within one time budget.

    Attributes:
        reports: runs one report.
        sleep: waits for a number of seconds.
    """

    reports: ReportRunner
    sleep: Sleep = asyncio.sleep

    async def run_within_budget(
        self, caller: Caller, requests: Sequence[ReportRunRequest]
    ) -> list[ReportOutcome]:
        """Returns the outcome of each report in the order of the requests; an error of one does not affect the others."""
        started = perf_counter()
        runner = self.reports.for_one_request()
        outcomes = await gather_within_budget(
            [partial(_run_report_as_outcome, caller, request, runner) for request in requests], self.sleep
        )
        duration = _elapsed_ms(started)
        return [
            outcome or _outcome_without_result(request, "timeout", self.reports, duration)
            for request, outcome in zip(requests, outcomes, strict=True)
        ]


async def _run_report_as_outcome(
    caller: Caller, request: ReportRunRequest, runner: ReportRunner
) -> ReportOutcome:
    if request.report is None:
        return _outcome_without_result(request, "missing", runner, 0)
    started = perf_counter()
    limit = _row_limit_below_plan_limit(request.report, request.row_limit)
    body = RunReport(date_range=request.date_range, filters=list(request.filters), limit=limit)
    try:
        run = await runner.run_with_supported_filters(caller, request.report, body)
    except QueryTimeout:
        return _outcome_without_result(request, "timeout", runner, _elapsed_ms(started))
    except ApiError as refusal:
        error = OutcomeError(error=refusal.message, code=refusal.code)
        return _outcome_without_result(request, "error", runner, _elapsed_ms(started), error)
    result, is_truncated = _truncate_breakdown_rows(run, request, limit)
    return ReportOutcome(
        report_id=request.report_id,
        status="ok",
        result=result,
        error=None,
        filters_skipped=result.filters_skipped,
        truncated=is_truncated,
        duration_ms=_elapsed_ms(started),
    )


def _row_limit_below_plan_limit(report: Report, row_limit: int | None) -> int | None:
    """Returns the row limit that the query engine applies; None for the one of the report, and for series.

    A series is never cut: its line would end in the middle of the range.
    """
    if report.plan is None or report.plan.interval is not None or row_limit is None:
        return None
    if row_limit >= report.plan.limit:
        return None
    return row_limit


def _truncate_breakdown_rows(
    run: ReportRun, request: ReportRunRequest, engine_limit: int | None
) -> tuple[ReportRun, bool]:
    """Returns the result with at most the requested rows, and whether rows were left out."""
    data = run.data
    if isinstance(data, QueryResponse):
        return run, engine_limit is not None and data.meta.truncated
    if not isinstance(data, Breakdown) or request.row_limit is None or len(data.data) <= request.row_limit:
        return run, False
    rows = data.model_copy(update={"data": data.data[: request.row_limit]})
    return run.model_copy(update={"data": rows}), True


def _outcome_without_result(
    request: ReportRunRequest,
    status: OutcomeStatus,
    runner: ReportRunner,
    duration: int,
    error: OutcomeError | None = None,
) -> ReportOutcome:
    catalog, report = runner.queries.catalog, request.report
    return ReportOutcome(
        report_id=request.report_id,
        status=status,
        result=None,
        error=error,
        filters_skipped=split_supported_filters(report, request.filters, catalog)[1] if report else [],
        truncated=False,
        duration_ms=duration,
    )


def _elapsed_ms(started: float) -> int:
    return round((perf_counter() - started) * 1000)
