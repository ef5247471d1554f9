"""`/dashboards` (contract 5.5)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.listing import ListQuery, page_of
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.plan import deletion, live
from service_core.changes.write import Writes
from service_core.insight.catalog import Catalog
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.workspace.cards import CardRuns
from service_core.workspace.dashboards.bodies import (
    CreateDashboard,
    ReorderDashboard,
    RunDashboard,
    UpdateDashboard,
)
from service_core.workspace.dashboards.model import Dashboard, Size
from service_core.workspace.dashboards.plan import create, reorder, update
from service_core.workspace.dashboards.resource import reports_of, shown
from service_core.workspace.dashboards.run import DashboardRun, run_dashboard
from service_core.workspace.reports.answers import ReportSummary
from service_core.workspace.reports.model import Reports


class ResolvedCard(Answer):
    """A card with its report."""

    report_id: UUID
    size: Size
    report: ReportSummary | None = Field(description="Null when the report was deleted.")


class DashboardAnswer(Dashboard):
    """A dashboard."""

    cards: list[ResolvedCard]
    deleted_at: None = Field(description="Null: a deleted dashboard is not found.")


class DashboardPage(Answer):
    """Dashboards, newest first."""

    dashboards: list[DashboardAnswer]
    next_cursor: str | None


class DashboardPath(BaseModel):
    """Which dashboard."""

    dashboardId: UUID  # noqa: N815 - as in the path


@operation("GET /dashboards", tag="dashboards")
async def list_dashboards(query: ListQuery, *, who: Caller, writes: Writes) -> DashboardPage:
    """Dashboards, newest first, with their cards."""
    async with writes.units.look(who.workspace.id) as unit:
        page, following = await page_of(unit.resources, Dashboard, query, who)
        reports = await reports_of(unit.resources, *page)
    return DashboardPage(dashboards=[_answer(one, reports) for one in page], next_cursor=following)


@operation("GET /dashboards/{dashboardId}", tag="dashboards")
async def get_dashboard(path: DashboardPath, *, who: Caller, writes: Writes) -> DashboardAnswer:
    """One dashboard with its cards."""
    return _answer(*await _found(path, who, writes))


@operation(
    "POST /dashboards",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="dashboards",
    errors=(409, 422),
    replays=True,
)
async def create_dashboard(
    body: CreateDashboard, *, who: Caller, writes: Writes, catalog: Catalog
) -> Reply[Envelope]:
    """Make a dashboard from live reports.

    A card without a size is `sm` for a metric, `lg` for a funnel, otherwise `md`.
    """
    return await writes.run(who, create(who, body.dashboard, catalog), dry_run=body.dry_run)


@operation(
    "PATCH /dashboards/{dashboardId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="dashboards",
    errors=(409, 422),
)
async def update_dashboard(
    path: DashboardPath, body: UpdateDashboard, *, who: Caller, writes: Writes, catalog: Catalog
) -> Reply[Envelope]:
    """Change the fields sent; a layout replaces the former one."""
    plan = update(who, path.dashboardId, body.dashboard, catalog)
    return await writes.run(who, plan, dry_run=body.dry_run)


@operation(
    "POST /dashboards/{dashboardId}/reorder",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="dashboards",
    errors=(409, 422),
    replays=True,
)
async def reorder_dashboard(
    path: DashboardPath, body: ReorderDashboard, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Put the cards into another order."""
    return await writes.run(who, reorder(who, path.dashboardId, body), dry_run=body.dry_run)


@operation(
    "DELETE /dashboards/{dashboardId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="dashboards",
    errors=(409,),
    body_optional=True,
)
async def delete_dashboard(
    path: DashboardPath, query: DryRunQuery, body: DryRunBody, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Hide a dashboard; an undo brings it back with its cards under its id."""
    return await writes.run(who, deletion(Dashboard, path.dashboardId), dry_run=dry_run_of(query, body))


@operation("POST /dashboards/{dashboardId}/run", tag="dashboards", errors=(422,), body_optional=True)
async def run_dashboard_cards(
    path: DashboardPath, body: RunDashboard, *, who: Caller, writes: Writes, runs: CardRuns
) -> DashboardRun:
    """Run every card over one range, within 22 seconds; nothing is written.

    Cards that are late are `timeout`, cards that cannot be run say why in `error`; either makes the
    answer `partial`.
    """
    dashboard, reports = await _found(path, who, writes)
    return await run_dashboard(who, dashboard, reports, body.overrides, runs)


async def _found(path: DashboardPath, who: Caller, writes: Writes) -> tuple[Dashboard, Reports]:
    async with writes.units.look(who.workspace.id) as unit:
        dashboard = await live(unit.resources, Dashboard, path.dashboardId)
        return dashboard, await reports_of(unit.resources, dashboard)


def _answer(dashboard: Dashboard, reports: Reports) -> DashboardAnswer:
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
