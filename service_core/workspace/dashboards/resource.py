"""Dashboards as a writable resource."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.query.catalog import Catalog
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.pagination import ListQuery
from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.operations import Scope
from service_core.workspace.dashboards.card_reports import load_card_reports
from service_core.workspace.dashboards.models import Dashboard, Layout
from service_core.workspace.dashboards.operations import reorder_dashboard, run_dashboard_cards
from service_core.workspace.dashboards.schemas import DashboardAnswer, DashboardPatch, NewDashboard
from service_core.workspace.dashboards.validate_layout import validate_equality_filters, validate_layout
from service_core.workspace.reports.models import DEFAULT_RANGE, Report
from service_core.workspace.reports.schemas import ReportSummary
from service_core.workspace.validation import validate_date_range, validate_text

MAX_NAME_LENGTH: Final = 120
_FIELDS: Final = ("name", "date_range", "filters", "layout")


def validate_range_and_provide_catalog(
    body: NewDashboard | DashboardPatch, *, caller: Caller, catalog: Catalog
) -> Catalog:
    """Returns the catalog that filters are checked with, after checking the date range.

    Raises:
        BadRequest: ``invalid_date_range``.
    """
    if body.date_range is not None:
        validate_date_range(body.date_range, caller, "dashboard.date_range")
    return catalog


async def create_dashboard(new: NewDashboard, write: WriteContext[Catalog]) -> Dashboard:
    """Make a dashboard from live reports.

    A card without a size is `sm` for a metric, `lg` for a funnel, otherwise `md`.
    """
    fields = await _validate_and_complete_fields({name: getattr(new, name) for name in _FIELDS}, write)
    return Dashboard(**write.new_fields(), **fields)


async def update_dashboard(
    dashboard: Dashboard, patch: DashboardPatch, write: WriteContext[Catalog]
) -> Dashboard:
    """Change the fields sent; a layout replaces the former one."""
    fields = await _validate_and_complete_fields(sent_fields(patch), write)
    return dashboard.with_fields(write.caller.now, **fields)


async def _validate_and_complete_fields(
    sent: Mapping[str, Any], write: WriteContext[Catalog]
) -> dict[str, Any]:
    """Returns the fields as they are stored; null gives a field its default."""
    fields = dict(sent)
    if "name" in fields:
        validate_text("dashboard.name", fields["name"], MAX_NAME_LENGTH)
    if "date_range" in fields:
        fields["date_range"] = fields["date_range"] or DEFAULT_RANGE
    if "filters" in fields:
        fields["filters"] = validate_equality_filters(fields["filters"] or (), write.prepared)
    if "layout" in fields:
        layout = fields["layout"]
        fields["layout"] = await validate_layout(layout, write.records) if layout else Layout()
    return fields


async def load_dashboard_serializer(records: RecordReader, dashboards: Sequence[Dashboard]) -> Serializer:
    """Returns how dashboards are shown: each card with a summary of its report, null for a deleted one."""
    reports = await load_card_reports(records, *dashboards)

    def add_card_reports(state: State) -> State:
        cards = [
            {**card, "report": _summarize(reports.get(UUID(card["report_id"])))}
            for card in state["layout"]["cards"]
        ]
        return {**state, "cards": cards, "deleted_at": None}

    return add_card_reports


def _summarize(report: Report | None) -> dict[str, Any] | None:
    return None if report is None else ReportSummary.from_report(report).model_dump(mode="json")


DASHBOARDS: Final = resource(
    ResourceType(Dashboard, Scope.WRITE_REPORTS, serializer=load_dashboard_serializer),
    "/dashboards/{dashboardId}",
    listing=Listing("Dashboards, newest first, with their cards.", query=ListQuery),
    get="One dashboard with its cards.",
    create=create_dashboard,
    update=update_dashboard,
    delete="Hide a dashboard; an undo brings it back with its cards under its id.",
    prepare=validate_range_and_provide_catalog,
    answer=DashboardAnswer,
    operations=(reorder_dashboard, run_dashboard_cards),
    are_reads_aggregate=True,
)
