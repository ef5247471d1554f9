"""Dashboards as a kind of resource: resolved cards, and what the end of a report means for them."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from service_core.changes.resource import Kind, Records, Resource, State
from service_core.kernel.operations import Scope
from service_core.workspace.dashboards.model import Dashboard
from service_core.workspace.reports.answers import ReportSummary
from service_core.workspace.reports.model import Report, Reports
from service_core.workspace.reports.resource import REPORT_KIND


def shown(state: State, reports: Reports) -> State:
    """A dashboard on the wire, its cards resolved; that of a deleted report is null."""
    cards = [
        {**card, "report": _summary(reports.get(UUID(card["report_id"])))}
        for card in state["layout"]["cards"]
    ]
    return {**state, "cards": cards, "deleted_at": None}


async def reports_of(records: Records, *dashboards: Dashboard) -> Reports:
    """The live reports that dashboards list."""
    listed = {card.report_id for dashboard in dashboards for card in dashboard.layout.cards}
    return await records.some(Report, listed)


async def _resolving(records: Records, dashboard: Resource) -> Kind:
    assert isinstance(dashboard, Dashboard)
    reports = await reports_of(records, dashboard)
    return replace(DASHBOARD_KIND, shown=lambda state: shown(state, reports))


async def _hiding(records: Records, report: Resource) -> Kind:
    """Reports, knowing the dashboards one of them stands on."""
    listing = [
        dashboard
        for dashboard in await records.every(Dashboard, telling=report.id)
        if any(card.report_id == report.id for card in dashboard.layout.cards)
    ]

    def effects(_: State | None, new: State | None) -> tuple[State, ...]:
        return () if new is not None else tuple(_hidden(dashboard, report) for dashboard in listing)

    return replace(REPORT_KIND, effects=effects)


def _hidden(dashboard: Dashboard, report: Resource) -> State:
    return {
        "type": "card_hidden",
        "summary": f"'{report.name}' no longer shows on the dashboard '{dashboard.name}'",
        "key": str(dashboard.id),
    }


def _summary(report: Report | None) -> dict[str, Any] | None:
    return None if report is None else ReportSummary.of(report).model_dump(mode="json")


DASHBOARD_KIND = Kind(Dashboard, Scope.WRITE_REPORTS, informed=_resolving)
"""How dashboards are written."""

LISTED_REPORT_KIND = replace(REPORT_KIND, informed=_hiding)
"""How reports are written that may stand on dashboards."""
