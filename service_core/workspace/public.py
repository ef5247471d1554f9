"""What a public page shows: an object of a workspace, run for whoever holds its link."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from service_core.access.model import Caller, Workspace
from service_core.access.reader import reader_of
from service_core.changes.ports import Units
from service_core.changes.resource import Records
from service_core.workspace.analyses.model import Analysis
from service_core.workspace.analyses.run import AnalysisRun, run_analysis
from service_core.workspace.cards import CardRuns
from service_core.workspace.dashboards.bodies import Overrides
from service_core.workspace.dashboards.model import Dashboard
from service_core.workspace.dashboards.resource import reports_of
from service_core.workspace.dashboards.run import DashboardRun, run_dashboard
from service_core.workspace.reports.answers import ReportRun
from service_core.workspace.reports.bodies import RunReport
from service_core.workspace.reports.model import Report

ObjectType = Literal["report", "dashboard", "analysis"]
Run = ReportRun | DashboardRun | AnalysisRun


async def run_object(
    workspace: Workspace, now: datetime, kind: ObjectType, object_id: UUID, *, units: Units, runs: CardRuns
) -> Run | None:
    """Run a report, a dashboard, or the reports an analysis embeds, as their owner saved them.

    Nobody has to be signed in: the reads are those of a key that may only read. A dashboard keeps 50
    rows per card; dashboards and analyses keep to the budget of 22 seconds and say what is late.

    Args:
        workspace: whose object it is.
        now: the present; ranges such as ``last_30_days`` end here.
        kind: what the object is.
        object_id: which one.
        units: the workspace store.
        runs: runs reports.

    Returns:
        None when the workspace has no such object, or it was deleted.

    Raises:
        Refusal: a report that cannot be run; dashboards and analyses tell it per card.
    """
    async with units.look(workspace.id) as unit:
        run = await _SAVED[kind](object_id, unit.resources)
    return run and await run(reader_of(workspace, now, "Public page"), runs)


_Start = Callable[[Caller, CardRuns], Awaitable[Run]]


async def _report(object_id: UUID, records: Records) -> _Start | None:
    report = await records.get(Report, object_id)
    if report is None:
        return None
    return lambda who, runs: runs.reports.run(who, report, RunReport())


async def _dashboard(object_id: UUID, records: Records) -> _Start | None:
    dashboard = await records.get(Dashboard, object_id)
    if dashboard is None:
        return None
    reports = await reports_of(records, dashboard)
    return lambda who, runs: run_dashboard(who, dashboard, reports, Overrides(), runs)


async def _analysis(object_id: UUID, records: Records) -> _Start | None:
    analysis = await records.get(Analysis, object_id)
    if analysis is None:
        return None
    reports = await records.some(Report, analysis.report_ids)
    return lambda who, runs: run_analysis(who, analysis, reports, runs)


_SAVED: Final = {"report": _report, "dashboard": _dashboard, "analysis": _analysis}
