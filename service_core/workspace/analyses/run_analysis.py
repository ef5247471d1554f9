"""Runs the reports that an analysis embeds."""

from uuid import UUID

from service_core.access.models import Caller
from service_core.kernel.date_range import DateRange
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.analyses.models import Analysis, embedded_report_ids
from service_core.workspace.reports.models import ReportsById
from service_core.workspace.reports.run_batch import ReportBatchRunner, ReportOutcome, ReportRunRequest


class AnalysisRun(ResponseModel):
    """An analysis with the outcome of each embedded report.

    Attributes:
        embeds: outcomes in the order of the body; a deleted report is ``missing``.
        partial: whether a report timed out or failed.
    """

    analysis_id: UUID
    title: str
    body_md: str
    embeds: list[ReportOutcome]
    partial: bool


async def run_analysis(
    caller: Caller,
    analysis: Analysis,
    reports: ReportsById,
    runner: ReportBatchRunner,
    date_range: DateRange | None = None,
) -> AnalysisRun:
    """Runs the embedded reports within one time budget.

    Their range is the given one, else that of the analysis, else that of each report.
    """
    ids = dict.fromkeys(UUID(name) for name in embedded_report_ids(analysis.body_md))
    covered = date_range or analysis.date_range
    requests = [ReportRunRequest(report_id, reports.get(report_id), covered) for report_id in ids]
    outcomes = await runner.run_within_budget(caller, requests)
    return AnalysisRun(
        analysis_id=analysis.id,
        title=analysis.name,
        body_md=analysis.body_md,
        embeds=outcomes,
        partial=not all(outcome.is_final for outcome in outcomes),
    )
