"""`/dashboards` (contract 5.5)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.analytics.query.catalog import Catalog
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.pagination import ListQuery, paginate_records
from service_core.changes.record_plans import get_or_404, plan_delete
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.dashboards.models import CardSize, Dashboard
from service_core.workspace.dashboards.plan import create, reorder, update
from service_core.workspace.dashboards.resource import load_card_reports, shown
from service_core.workspace.dashboards.run_dashboard import DashboardRun, run_dashboard
from service_core.workspace.dashboards.schemas import (
    CreateDashboard,
    ReorderDashboard,
    RunDashboard,
    UpdateDashboard,
)
from service_core.workspace.reports.answers import ReportSummary
from service_core.workspace.reports.models import ReportsById
from service_core.workspace.reports.run_batch import ReportBatchRunner


class ResolvedCard(ResponseModel):
    """A card with its report."""

    report_id: UUID
    size: CardSize
    report: ReportSummary | None = Field(description="Null when the report was deleted.")


class DashboardAnswer(Dashboard):
    """A dashboard."""

    cards: list[ResolvedCard]
    deleted_at: None = Field(description="Null: a deleted dashboard is not found.")


class DashboardPage(ResponseModel):
    """Dashboards, newest first."""

    dashboards: list[DashboardAnswer]
    next_cursor: str | None


class DashboardPath(BaseModel):
    """Which dashboard."""

    dashboardId: UUID  # noqa: N815 - as in the path


@operation("GET /dashboards", tag="dashboards")
async def list_dashboards(query: ListQuery, *, caller: Caller, writes: ChangeExecutor) -> DashboardPage:
    """Dashboards, newest first, with their cards."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        page, following = await paginate_records(unit.resources, Dashboard, query, caller)
        reports = await load_card_reports(unit.resources, *page)
    return DashboardPage(dashboards=[_answer(one, reports) for one in page], next_cursor=following)


@operation("GET /dashboards/{dashboardId}", tag="dashboards")
async def get_dashboard(path: DashboardPath, *, caller: Caller, writes: ChangeExecutor) -> DashboardAnswer:
    """One dashboard with its cards."""
    return _answer(*await _found(path, caller, writes))


@operation(
    "POST /dashboards",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="dashboards",
    errors=(409, 422),
    idempotent=True,
)
async def create_dashboard(
    body: CreateDashboard, *, caller: Caller, writes: ChangeExecutor, catalog: Catalog
) -> HandlerResponse[Envelope]:
    """Make a dashboard from live reports.

    A card without a size is `sm` for a metric, `lg` for a funnel, otherwise `md`.
    """
    return await writes.execute(caller, create(caller, body.dashboard, catalog), dry_run=body.dry_run)


@operation(
    "PATCH /dashboards/{dashboardId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="dashboards",
    errors=(409, 422),
)
async def update_dashboard(
    path: DashboardPath, body: UpdateDashboard, *, caller: Caller, writes: ChangeExecutor, catalog: Catalog
) -> HandlerResponse[Envelope]:
    """Change the fields sent; a layout replaces the former one."""
    plan = update(caller, path.dashboardId, body.dashboard, catalog)
    return await writes.execute(caller, plan, dry_run=body.dry_run)


@operation(
    "POST /dashboards/{dashboardId}/reorder",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="dashboards",
    errors=(409, 422),
    idempotent=True,
)
async def reorder_dashboard(
    path: DashboardPath, body: ReorderDashboard, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Put the cards into another order."""
    return await writes.execute(caller, reorder(caller, path.dashboardId, body), dry_run=body.dry_run)


@operation(
    "DELETE /dashboards/{dashboardId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="dashboards",
    errors=(409,),
    body_optional=True,
)
async def delete_dashboard(
    path: DashboardPath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Hide a dashboard; an undo brings it back with its cards under its id."""
    return await writes.execute(
        caller, plan_delete(Dashboard, path.dashboardId), dry_run=requested_dry_run(query, body)
    )


@operation("POST /dashboards/{dashboardId}/run", tag="dashboards", errors=(422,), body_optional=True)
async def run_dashboard_cards(
    path: DashboardPath,
    body: RunDashboard,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    runs: ReportBatchRunner,
) -> DashboardRun:
    """Run every card over one range, within 22 seconds; nothing is written.

    Cards that are late are `timeout`, cards that cannot be run say why in `error`; either makes the
    answer `partial`.
    """
    dashboard, reports = await _found(path, caller, writes)
    return await run_dashboard(caller, dashboard, reports, body.overrides, runs)


async def _found(
    path: DashboardPath, caller: Caller, writes: ChangeExecutor
) -> tuple[Dashboard, ReportsById]:
    async with writes.transactions.read(caller.workspace.id) as unit:
        dashboard = await get_or_404(unit.resources, Dashboard, path.dashboardId)
        return dashboard, await load_card_reports(unit.resources, dashboard)


def _answer(dashboard: Dashboard, reports: ReportsById) -> DashboardAnswer:
    return DashboardAnswer.model_validate(shown(dashboard.state, reports))


OPERATIONS = (
    list_dashboards,
    get_dashboard,
    create_dashboard,
    update_dashboard,
    reorder_dashboard,
    delete_dashboard,
    run_dashboard_cards,
)
