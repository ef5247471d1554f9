"""`/reports` (contract 5.6)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.listing import ListQuery, page_of
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.plan import deletion, live
from service_core.changes.write import Writes
from service_core.insight.attribution.model import Models
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import checked_filters
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.workspace.reports.answers import ReportAnswer, ReportRun
from service_core.workspace.reports.bodies import CreateReport, RunReport, UpdateReport
from service_core.workspace.reports.definition import Definitions
from service_core.workspace.reports.model import Report, ReportKind
from service_core.workspace.reports.plan import create, update
from service_core.workspace.reports.resource import shown
from service_core.workspace.reports.run import ReportRuns


class ReportsQuery(ListQuery):
    """Parameters of `GET /reports`."""

    kind: ReportKind | None = Field(None, description="Only reports of this kind.")


class ReportPage(Answer):
    """Reports, newest first."""

    reports: list[ReportAnswer]
    next_cursor: str | None


class ReportPath(BaseModel):
    """Which report."""

    reportId: UUID  # noqa: N815 - as in the path


@operation("GET /reports", tag="reports")
async def list_reports(query: ReportsQuery, *, who: Caller, writes: Writes) -> ReportPage:
    """Saved reports, newest first."""
    async with writes.units.look(who.workspace.id) as unit:
        kind = {"kind": query.kind} if query.kind else {}
        page, following = await page_of(unit.resources, Report, query, who, matching=kind)
    return ReportPage(reports=[_answer(report) for report in page], next_cursor=following)


@operation("GET /reports/{reportId}", tag="reports")
async def get_report(path: ReportPath, *, who: Caller, writes: Writes) -> ReportAnswer:
    """One saved report."""
    async with writes.units.look(who.workspace.id) as unit:
        return _answer(await live(unit.resources, Report, path.reportId))


@operation(
    "POST /reports",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="reports",
    errors=(409, 422),
    replays=True,
)
async def create_report(
    body: CreateReport, *, who: Caller, writes: Writes, questions: Questions, models: Models
) -> Reply[Envelope]:
    """Save a report: a metric of the catalog, a plan of `/query`, or a funnel.

    It is checked as if it were asked now; its `kind` follows from its definition.
    """
    plan = create(who, body.report, Definitions(questions, models))
    return await writes.run(who, plan, dry_run=body.dry_run)


@operation(
    "PATCH /reports/{reportId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="reports",
    errors=(409, 422),
)
async def update_report(
    path: ReportPath,
    body: UpdateReport,
    *,
    who: Caller,
    writes: Writes,
    questions: Questions,
    models: Models,
) -> Reply[Envelope]:
    """Change the fields sent; every dashboard that shows the report shows the new one."""
    plan = update(who, path.reportId, body.report, Definitions(questions, models))
    return await writes.run(who, plan, dry_run=body.dry_run)


@operation(
    "DELETE /reports/{reportId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="reports",
    errors=(409,),
    body_optional=True,
)
async def delete_report(
    path: ReportPath, query: DryRunQuery, body: DryRunBody, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Hide a report; its cards stay on dashboards, and an undo brings it back under its id."""
    return await writes.run(who, deletion(Report, path.reportId), dry_run=dry_run_of(query, body))


@operation("POST /reports/{reportId}/run", tag="reports", body_optional=True)
async def run_report(
    path: ReportPath, body: RunReport, *, who: Caller, writes: Writes, runs: ReportRuns
) -> ReportRun:
    """Run a saved report over its own range or another one; nothing is written.

    Filters a report cannot take are listed in `filters_skipped`.
    """
    async with writes.units.look(who.workspace.id) as unit:
        report = await live(unit.resources, Report, path.reportId)
    checked_filters(runs.questions.catalog, (), body.filters)
    return await runs.run(who, report, body)


def _answer(report: Report) -> ReportAnswer:
    return ReportAnswer.model_validate(shown(report.state))


OPERATIONS = (list_reports, get_report, create_report, update_report, delete_report, run_report)
