"""Reordering and running dashboards."""

from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.models import Action
from service_core.changes.record_plans import get_or_404, plan_update
from service_core.changes.resource import RecordReader
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Reversibility, Scope, operation
from service_core.workspace.dashboards.card_reports import load_card_reports
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.dashboards.run_dashboard import DashboardRun, run_dashboard
from service_core.workspace.dashboards.schemas import ReorderDashboard, RunDashboard
from service_core.workspace.dashboards.validate_layout import reorder_cards
from service_core.workspace.reports.run_batch import ReportBatchRunner


class DashboardPath(BaseModel):
    """Path parameters."""

    dashboardId: UUID  # noqa: N815 - as in the path


@operation(
    "POST /dashboards/{dashboardId}/reorder",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="dashboards",
    errors=(409, 422),
    idempotent=True,
    reversibility=Reversibility.REVERSIBLE,
)
async def reorder_dashboard(
    path: DashboardPath, body: ReorderDashboard, *, caller: Caller, changes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Put the cards into another order."""

    async def with_reordered_cards(dashboard: Dashboard, _: RecordReader) -> Dashboard:
        return dashboard.with_fields(caller.now, layout=reorder_cards(dashboard.layout, body.report_ids))

    plan = plan_update(
        Dashboard,
        path.dashboardId,
        with_reordered_cards,
        action=Action.REORDER,
        expected_updated_at=body.expected_updated_at,
    )
    return await changes.preview_or_apply_change(caller, plan, dry_run=body.dry_run)


@operation(
    "POST /dashboards/{dashboardId}/run",
    tag="dashboards",
    errors=(422,),
    body_optional=True,
    tool="run_dashboard",
    is_aggregate=True,
)
async def run_dashboard_cards(
    path: DashboardPath,
    body: RunDashboard,
    *,
    caller: Caller,
    changes: ChangeExecutor,
    runner: ReportBatchRunner,
) -> DashboardRun:
    """Run every card over one range, within 22 seconds; nothing is written.

    Cards that are late are `timeout`, cards that cannot be run say why in `error`; either makes the
    answer `partial`.
    """
    async with changes.transactions.read(caller.workspace.id) as transaction:
        dashboard = await get_or_404(transaction.resources, Dashboard, path.dashboardId)
        reports = await load_card_reports(transaction.resources, dashboard)
    return await run_dashboard(caller, dashboard, reports, body.overrides, runner)
