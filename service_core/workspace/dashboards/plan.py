"""How a dashboard is made, changed and reordered."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.query.catalog import Catalog
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.changes.resource import RecordReader
from service_core.workspace.dashboards.models import Dashboard, Layout
from service_core.workspace.dashboards.schemas import DashboardPatch, NewDashboard, ReorderDashboard
from service_core.workspace.dashboards.validate_layout import reorder_cards, validate_filters, validate_layout
from service_core.workspace.reports.models import DEFAULT_RANGE
from service_core.workspace.validation import check_not_stale, validate_date_range, validate_text

LONGEST_NAME: Final = 120
_SAID: Final = ("name", "date_range", "filters", "layout")


def create(caller: Caller, wanted: NewDashboard, catalog: Catalog) -> ChangePlanner:
    """The plan of a new dashboard.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, ``invalid_filter``, ``invalid_layout``, ``too_many_cards``,
            ``duplicate_report``, ``unknown_report``.
    """
    _check_range(wanted, caller)

    async def plan(unit: Transaction) -> Change:
        said = {name: getattr(wanted, name) for name in _SAID}
        dashboard = Dashboard(
            **new_record_fields(caller),
            **await _checked(said, unit.resources, catalog),
        )
        return Change(Action.CREATE, None, dashboard, GENERATED_FIELDS)

    return plan


def update(caller: Caller, dashboard_id: UUID, patch: DashboardPatch, catalog: Catalog) -> ChangePlanner:
    """The plan of a changed dashboard: only the fields sent change.

    Raises:
        NotFound: the workspace has no such dashboard.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, caller)

    async def plan(unit: Transaction) -> Change:
        dashboard = await get_or_404(unit.resources, Dashboard, dashboard_id)
        check_not_stale(dashboard, patch.expected_updated_at)
        fields = await _checked(patch.changed_fields(), unit.resources, catalog)
        return _changed(Action.UPDATE, dashboard, fields, caller)

    return plan


def reorder(caller: Caller, dashboard_id: UUID, wanted: ReorderDashboard) -> ChangePlanner:
    """The plan of the same cards in another order.

    Raises:
        NotFound: the workspace has no such dashboard.
        Conflict: ``stale_update``.
        Unprocessable: ``invalid_layout``, the reports are not those of the cards.
    """

    async def plan(unit: Transaction) -> Change:
        dashboard = await get_or_404(unit.resources, Dashboard, dashboard_id)
        check_not_stale(dashboard, wanted.expected_updated_at)
        layout = reorder_cards(dashboard.layout, wanted.report_ids)
        return _changed(Action.REORDER, dashboard, {"layout": layout}, caller)

    return plan


def _check_range(said: NewDashboard | DashboardPatch, caller: Caller) -> None:
    if said.date_range is not None:
        validate_date_range(said.date_range, caller, "dashboard.date_range")


async def _checked(said: Mapping[str, Any], records: RecordReader, catalog: Catalog) -> dict[str, Any]:
    """The fields as they are stored; what is null takes its default."""
    fields = dict(said)
    if "name" in fields:
        validate_text("dashboard.name", fields["name"], LONGEST_NAME)
    if "date_range" in fields:
        fields["date_range"] = fields["date_range"] or DEFAULT_RANGE
    if "filters" in fields:
        fields["filters"] = validate_filters(fields["filters"] or (), catalog)
    if "layout" in fields:
        wanted = fields["layout"]
        fields["layout"] = await validate_layout(wanted, records) if wanted else Layout()
    return fields


def _changed(action: Action, dashboard: Dashboard, fields: Mapping[str, Any], caller: Caller) -> Change:
    after = {**dict(dashboard), **fields, "updated_at": dashboard.next_updated_at(caller.now)}
    return Change(action, dashboard, Dashboard.model_validate(after))
