"""How a dashboard is made, changed and reordered."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.resource import Records
from service_core.changes.write import Plan
from service_core.insight.catalog import Catalog
from service_core.workspace.dashboards.bodies import DashboardPatch, NewDashboard, ReorderDashboard
from service_core.workspace.dashboards.layout import checked_filters, checked_layout, reordered
from service_core.workspace.dashboards.model import Dashboard, Layout
from service_core.workspace.refusals import check_current, check_range, check_text
from service_core.workspace.reports.model import USUAL_RANGE

LONGEST_NAME: Final = 120
_SAID: Final = ("name", "date_range", "filters", "layout")


def create(who: Caller, wanted: NewDashboard, catalog: Catalog) -> Plan:
    """The plan of a new dashboard.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, ``invalid_filter``, ``invalid_layout``, ``too_many_cards``,
            ``duplicate_report``, ``unknown_report``.
    """
    _check_range(wanted, who)

    async def plan(unit: Transaction) -> Change:
        said = {name: getattr(wanted, name) for name in _SAID}
        dashboard = Dashboard(
            **born(who),
            **await _checked(said, unit.resources, catalog),
        )
        return Change(Action.CREATE, None, dashboard, ASSIGNED)

    return plan


def update(who: Caller, dashboard_id: UUID, patch: DashboardPatch, catalog: Catalog) -> Plan:
    """The plan of a changed dashboard: only the fields sent change.

    Raises:
        NotFound: the workspace has no such dashboard.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, who)

    async def plan(unit: Transaction) -> Change:
        dashboard = await live(unit.resources, Dashboard, dashboard_id)
        check_current(dashboard, patch.expected_updated_at)
        fields = await _checked(patch.sent(), unit.resources, catalog)
        return _changed(Action.UPDATE, dashboard, fields, who)

    return plan


def reorder(who: Caller, dashboard_id: UUID, wanted: ReorderDashboard) -> Plan:
    """The plan of the same cards in another order.

    Raises:
        NotFound: the workspace has no such dashboard.
        Conflict: ``stale_update``.
        Unprocessable: ``invalid_layout``, the reports are not those of the cards.
    """

    async def plan(unit: Transaction) -> Change:
        dashboard = await live(unit.resources, Dashboard, dashboard_id)
        check_current(dashboard, wanted.expected_updated_at)
        layout = reordered(dashboard.layout, wanted.report_ids)
        return _changed(Action.REORDER, dashboard, {"layout": layout}, who)

    return plan


def _check_range(said: NewDashboard | DashboardPatch, who: Caller) -> None:
    if said.date_range is not None:
        check_range(said.date_range, who, "dashboard.date_range")


async def _checked(said: Mapping[str, Any], records: Records, catalog: Catalog) -> dict[str, Any]:
    """The fields as they are stored; what is null takes its default."""
    fields = dict(said)
    if "name" in fields:
        check_text("dashboard.name", fields["name"], LONGEST_NAME)
    if "date_range" in fields:
        fields["date_range"] = fields["date_range"] or USUAL_RANGE
    if "filters" in fields:
        fields["filters"] = checked_filters(fields["filters"] or (), catalog)
    if "layout" in fields:
        wanted = fields["layout"]
        fields["layout"] = await checked_layout(wanted, records) if wanted else Layout()
    return fields


def _changed(action: Action, dashboard: Dashboard, fields: Mapping[str, Any], who: Caller) -> Change:
    after = {**dict(dashboard), **fields, "updated_at": dashboard.changed_at(who.now)}
    return Change(action, dashboard, Dashboard.model_validate(after))
