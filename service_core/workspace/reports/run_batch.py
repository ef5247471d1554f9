"""Reports run side by side, each with what became of it: what dashboards and analyses show."""

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
from service_core.workspace.reports.answers import ReportRun, SkippedFilter
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_report import ReportRunner, split_supported_filters
from service_core.workspace.reports.schemas import RunReport
from service_core.workspace.time_budget import Sleep, gather_within_budget

OutcomeStatus = Literal["ok", "timeout", "error", "missing"]


class OutcomeError(ResponseModel):
    """Why a report could not be run."""

    error: str
    code: str | None


class ReportOutcome(ResponseModel):
    """What became of one report of a run."""

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
        """Whether it says all there is to say."""
        return self.status in ("ok", "missing")


@dataclass(frozen=True, slots=True)
class ReportRunRequest:
    """One report to run.

    Attributes:
        report: None when it was deleted.
        date_range: None for the report's own.
        row_limit: rows kept; None for all it has.
    """

    report_id: UUID
    report: Report | None
    date_range: DateRange | None = None
    filters: Sequence[FilterBody] = ()
    row_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ReportBatchRunner:
    """Runs reports side by side.

    Attributes:
        reports: runs one of them.
        alarm: rings when the budget is over.
    """

    reports: ReportRunner
    sleep: Sleep = asyncio.sleep

    async def run(self, caller: Caller, requests: Sequence[ReportRunRequest]) -> list[ReportOutcome]:
        """Run reports within one budget, in the order asked; a refusal of one leaves the others alone."""
        started = perf_counter()
        outcomes = await gather_within_budget(
            [partial(_run_report, caller, one, self.reports) for one in requests], self.sleep
        )
        late = _elapsed_ms(started)
        return [
            outcome or _failed_outcome(one, "timeout", self.reports, late)
            for one, outcome in zip(requests, outcomes, strict=True)
        ]


async def _run_report(caller: Caller, wanted: ReportRunRequest, runs: ReportRunner) -> ReportOutcome:
    if wanted.report is None:
        return _failed_outcome(wanted, "missing", runs, 0)
    started = perf_counter()
    limit = _engine_row_limit(wanted.report, wanted.row_limit)
    asked = RunReport(date_range=wanted.date_range, filters=list(wanted.filters), limit=limit)
    try:
        found = await runs.run(caller, wanted.report, asked)
    except QueryTimeout:
        return _failed_outcome(wanted, "timeout", runs, _elapsed_ms(started))
    except ApiError as refusal:
        error = OutcomeError(error=refusal.message, code=refusal.code)
        return _failed_outcome(wanted, "error", runs, _elapsed_ms(started), error)
    kept, is_cut = _truncate_rows(found, wanted, limit)
    return ReportOutcome(
        report_id=wanted.report_id,
        status="ok",
        result=kept,
        error=None,
        filters_skipped=kept.filters_skipped,
        truncated=is_cut,
        duration_ms=_elapsed_ms(started),
    )


def _engine_row_limit(report: Report, row_limit: int | None) -> int | None:
    """The limit the engine is asked with; None for the report's own."""
    if report.plan is None or row_limit is None or row_limit >= report.plan.limit:
        return None
    return row_limit


def _truncate_rows(found: ReportRun, wanted: ReportRunRequest, pushed: int | None) -> tuple[ReportRun, bool]:
    """The result with as many rows as are wanted, and whether that left some out."""
    data = found.data
    if isinstance(data, QueryResponse):
        return found, pushed is not None and data.meta.truncated
    if not isinstance(data, Breakdown) or wanted.row_limit is None or len(data.data) <= wanted.row_limit:
        return found, False
    rows = data.model_copy(update={"data": data.data[: wanted.row_limit]})
    return found.model_copy(update={"data": rows}), True


def _failed_outcome(
    wanted: ReportRunRequest,
    status: OutcomeStatus,
    runs: ReportRunner,
    duration: int,
    error: OutcomeError | None = None,
) -> ReportOutcome:
    catalog, report = runs.questions.catalog, wanted.report
    return ReportOutcome(
        report_id=wanted.report_id,
        status=status,
        result=None,
        error=error,
        filters_skipped=split_supported_filters(report, wanted.filters, catalog)[1] if report else [],
        truncated=False,
        duration_ms=duration,
    )


def _elapsed_ms(started: float) -> int:
    return round((perf_counter() - started) * 1000)
