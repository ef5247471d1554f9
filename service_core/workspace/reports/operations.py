"""Running a saved report."""

from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller
from service_core.analytics.query.schemas import parse_filters_accepted_by_metrics
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.record_plans import get_or_404
from service_core.kernel.operations import operation
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_report import ReportRunner
from service_core.workspace.reports.schemas import ReportRun, RunReport


class ReportPath(BaseModel):
    """Path parameters."""

    reportId: UUID  # noqa: N815 - as in the path


@operation("POST /reports/{reportId}/run", tag="reports", body_optional=True, is_aggregate=True)
async def run_report(
    path: ReportPath, body: RunReport, *, caller: Caller, changes: ChangeExecutor, runner: ReportRunner
) -> ReportRun:
    """Run a saved report over its own range or another one; nothing is written.

    Filters a report cannot take are listed in `filters_skipped`.
    """
    async with changes.transactions.read(caller.workspace.id) as transaction:
        report = await get_or_404(transaction.resources, Report, path.reportId)
    parse_filters_accepted_by_metrics(runner.queries.catalog, (), body.filters)
    return await runner.for_one_request().run_with_supported_filters(caller, report, body)
