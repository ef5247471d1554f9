"""`/reports` (contract 5.6)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.query.schemas import validate_filters
from service_core.analytics.query.service import MetricQueries
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.pagination import ListQuery, paginate_records
from service_core.changes.record_plans import get_or_404, plan_delete
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.reports.answers import ReportAnswer, ReportRun
from service_core.workspace.reports.models import Report, ReportKind
from service_core.workspace.reports.plan import create, update
from service_core.workspace.reports.resource import shown
from service_core.workspace.reports.run_report import ReportRunner
from service_core.workspace.reports.schemas import CreateReport, RunReport, UpdateReport
from service_core.workspace.reports.validate_definition import DefinitionValidator


class ReportsQuery(ListQuery):
    """Parameters of `GET /reports`."""

    kind: ReportKind | None = Field(None, description="Only reports of this kind.")


class ReportPage(ResponseModel):
    """Reports, newest first."""

    reports: list[ReportAnswer]
    next_cursor: str | None


class ReportPath(BaseModel):
    """Which report."""

    reportId: UUID  # noqa: N815 - as in the path


@operation("GET /reports", tag="reports")
async def list_reports(query: ReportsQuery, *, caller: Caller, writes: ChangeExecutor) -> ReportPage:
    """Saved reports, newest first."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        kind = {"kind": query.kind} if query.kind else {}
        page, following = await paginate_records(unit.resources, Report, query, caller, field_filters=kind)
    return ReportPage(reports=[_answer(report) for report in page], next_cursor=following)


@operation("GET /reports/{reportId}", tag="reports")
async def get_report(path: ReportPath, *, caller: Caller, writes: ChangeExecutor) -> ReportAnswer:
    """One saved report."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        return _answer(await get_or_404(unit.resources, Report, path.reportId))


@operation(
    "POST /reports",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="reports",
    errors=(409, 422),
    idempotent=True,
)
async def create_report(
    body: CreateReport,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    questions: MetricQueries,
    models: AttributionModels,
) -> HandlerResponse[Envelope]:
    """Save a report: a metric of the catalog, a plan of `/query`, or a funnel.

    It is checked as if it were asked now; its `kind` follows from its definition.
    """
    plan = create(caller, body.report, DefinitionValidator(questions, models))
    return await writes.execute(caller, plan, dry_run=body.dry_run)


@operation(
    "PATCH /reports/{reportId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="reports",
    errors=(409, 422),
)
async def update_report(
    path: ReportPath,
    body: UpdateReport,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    questions: MetricQueries,
    models: AttributionModels,
) -> HandlerResponse[Envelope]:
    """Change the fields sent; every dashboard that shows the report shows the new one."""
    plan = update(caller, path.reportId, body.report, DefinitionValidator(questions, models))
    return await writes.execute(caller, plan, dry_run=body.dry_run)


@operation(
    "DELETE /reports/{reportId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="reports",
    errors=(409,),
    body_optional=True,
)
async def delete_report(
    path: ReportPath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Hide a report; its cards stay on dashboards, and an undo brings it back under its id."""
    return await writes.execute(
        caller, plan_delete(Report, path.reportId), dry_run=requested_dry_run(query, body)
    )


@operation("POST /reports/{reportId}/run", tag="reports", body_optional=True)
async def run_report(
    path: ReportPath, body: RunReport, *, caller: Caller, writes: ChangeExecutor, runs: ReportRunner
) -> ReportRun:
    """Run a saved report over its own range or another one; nothing is written.

    Filters a report cannot take are listed in `filters_skipped`.
    """
    async with writes.transactions.read(caller.workspace.id) as unit:
        report = await get_or_404(unit.resources, Report, path.reportId)
    validate_filters(runs.questions.catalog, (), body.filters)
    return await runs.run(caller, report, body)


def _answer(report: Report) -> ReportAnswer:
    return ReportAnswer.model_validate(shown(report.state))


OPERATIONS = (list_reports, get_report, create_report, update_report, delete_report, run_report)
