"""Reports run side by side, each with what became of it: what dashboards and analyses show."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Literal
from uuid import UUID

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.breakdowns import Breakdown
from service_core.insight.ports import QueryTimeout
from service_core.insight.query.requested import FilterBody
from service_core.insight.query_answer import QueryAnswer
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import Refusal
from service_core.kernel.params import Answer
from service_core.workspace.deadline import Alarm, in_time
from service_core.workspace.reports.answers import ReportRun, SkippedFilter
from service_core.workspace.reports.bodies import RunReport
from service_core.workspace.reports.model import Report
from service_core.workspace.reports.run import ReportRuns, sifted

OutcomeStatus = Literal["ok", "timeout", "error", "missing"]


class OutcomeError(Answer):
    """Why a report could not be run."""

    error: str
    code: str | None


class Outcome(Answer):
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
    def is_known(self) -> bool:
        """Whether it says all there is to say."""
        return self.status in ("ok", "missing")


@dataclass(frozen=True, slots=True)
class Wanted:
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
class CardRuns:
    """Runs reports side by side.

    Attributes:
        reports: runs one of them.
        alarm: rings when the budget is over.
    """

    reports: ReportRuns
    alarm: Alarm = asyncio.sleep

    async def run(self, who: Caller, wanted: Sequence[Wanted]) -> list[Outcome]:
        """Run reports within one budget, in the order asked; a refusal of one leaves the others alone."""
        started = perf_counter()
        outcomes = await in_time([partial(_outcome, who, one, self.reports) for one in wanted], self.alarm)
        late = _since(started)
        return [
            outcome or _without_result(one, "timeout", self.reports, late)
            for one, outcome in zip(wanted, outcomes, strict=True)
        ]


async def _outcome(who: Caller, wanted: Wanted, runs: ReportRuns) -> Outcome:
    if wanted.report is None:
        return _without_result(wanted, "missing", runs, 0)
    started = perf_counter()
    limit = _pushed_limit(wanted.report, wanted.row_limit)
    asked = RunReport(date_range=wanted.date_range, filters=list(wanted.filters), limit=limit)
    try:
        found = await runs.run(who, wanted.report, asked)
    except QueryTimeout:
        return _without_result(wanted, "timeout", runs, _since(started))
    except Refusal as refusal:
        error = OutcomeError(error=refusal.message, code=refusal.code)
        return _without_result(wanted, "error", runs, _since(started), error)
    kept, is_cut = _cut(found, wanted, limit)
    return Outcome(
        report_id=wanted.report_id,
        status="ok",
        result=kept,
        error=None,
        filters_skipped=kept.filters_skipped,
        truncated=is_cut,
        duration_ms=_since(started),
    )


def _pushed_limit(report: Report, row_limit: int | None) -> int | None:
    """The limit the engine is asked with; None for the report's own."""
    if report.plan is None or row_limit is None or row_limit >= report.plan.limit:
        return None
    return row_limit


def _cut(found: ReportRun, wanted: Wanted, pushed: int | None) -> tuple[ReportRun, bool]:
    """The result with as many rows as are wanted, and whether that left some out."""
    data = found.data
    if isinstance(data, QueryAnswer):
        return found, pushed is not None and data.meta.truncated
    if not isinstance(data, Breakdown) or wanted.row_limit is None or len(data.data) <= wanted.row_limit:
        return found, False
    rows = data.model_copy(update={"data": data.data[: wanted.row_limit]})
    return found.model_copy(update={"data": rows}), True


def _without_result(
    wanted: Wanted, status: OutcomeStatus, runs: ReportRuns, duration: int, error: OutcomeError | None = None
) -> Outcome:
    catalog, report = runs.questions.catalog, wanted.report
    return Outcome(
        report_id=wanted.report_id,
        status=status,
        result=None,
        error=error,
        filters_skipped=sifted(report, wanted.filters, catalog)[1] if report else [],
        truncated=False,
        duration_ms=duration,
    )


def _since(started: float) -> int:
    return round((perf_counter() - started) * 1000)
