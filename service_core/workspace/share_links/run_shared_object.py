"""Runs a shared object for its public page."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Caller, Workspace
from service_core.changes.ports import Transactions
from service_core.changes.resource import RecordReader
from service_core.kernel.date_range import DateRange
from service_core.workspace.analyses.models import Analysis
from service_core.workspace.analyses.run_analysis import AnalysisRun, run_analysis
from service_core.workspace.dashboards.card_reports import load_card_reports
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.dashboards.run_dashboard import DashboardRun, run_dashboard
from service_core.workspace.dashboards.schemas import RunOverrides
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.reports.schemas import ReportRun, RunReport
from service_core.workspace.share_links.models import ObjectType

SharedObjectRun = ReportRun | DashboardRun | AnalysisRun


async def run_shared_object(
    workspace: Workspace,
    now: datetime,
    object_type: ObjectType,
    object_id: UUID,
    *,
    transactions: Transactions,
    runner: ReportBatchRunner,
    date_range: DateRange | None = None,
) -> SharedObjectRun | None:
    """Returns the result of a report, a dashboard or an analysis as it is saved.

    The reads are those of a read-only key. A dashboard has 50 rows per card; dashboards and analyses have a
    time budget of 22 seconds and name the reports that exceed it.

    Args:
        workspace: the workspace of the object.
        now: the present; ranges such as ``last_30_days`` end here.
        object_type: type of the object.
        object_id: its id.
        transactions: the workspace store.
        runner: runs reports.
        date_range: instead of the saved ranges; None for those.

    Returns:
        None when the workspace has no such object, or it was deleted.

    Raises:
        ApiError: a report that cannot be run; dashboards and analyses have the error per card.
    """
    async with transactions.read(workspace.id) as transaction:
        run = await _LOADERS[object_type](object_id, transaction.resources, date_range)
    return run and await run(build_unlimited_read_only_caller(workspace, now, "Public page"), runner)


_RunFunction = Callable[[Caller, ReportBatchRunner], Awaitable[SharedObjectRun]]


async def _prepare_report_run(
    object_id: UUID, records: RecordReader, date_range: DateRange | None
) -> _RunFunction | None:
    report = await records.get(Report, object_id)
    if report is None:
        return None
    return lambda caller, runner: runner.reports.for_one_request().run_with_supported_filters(
        caller, report, RunReport(date_range=date_range)
    )


async def _prepare_dashboard_run(
    object_id: UUID, records: RecordReader, date_range: DateRange | None
) -> _RunFunction | None:
    dashboard = await records.get(Dashboard, object_id)
    if dashboard is None:
        return None
    reports = await load_card_reports(records, dashboard)
    overrides = RunOverrides(date_range=date_range)
    return lambda caller, runner: run_dashboard(caller, dashboard, reports, overrides, runner)


async def _prepare_analysis_run(
    object_id: UUID, records: RecordReader, date_range: DateRange | None
) -> _RunFunction | None:
    analysis = await records.get(Analysis, object_id)
    if analysis is None:
        return None
    reports = await records.get_many(Report, analysis.report_ids)
    return lambda caller, runner: run_analysis(caller, analysis, reports, runner, date_range)


_LOADERS: Final = {
    "report": _prepare_report_run,
    "dashboard": _prepare_dashboard_run,
    "analysis": _prepare_analysis_run,
}
