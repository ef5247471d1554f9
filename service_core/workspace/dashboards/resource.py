"""Dashboards as a kind of resource: resolved cards, and what the end of a report means for them."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from service_core.changes.resource import RecordReader, Resource, ResourceType, State
from service_core.kernel.operations import Scope
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.reports.answers import ReportSummary
from service_core.workspace.reports.models import Report, ReportsById
from service_core.workspace.reports.resource import REPORT_KIND


def shown(state: State, reports: ReportsById) -> State:
    """A dashboard on the wire, its cards resolved; that of a deleted report is null."""
    cards = [
        {**card, "report": _summary(reports.get(UUID(card["report_id"])))}
        for card in state["layout"]["cards"]
    ]
    return {**state, "cards": cards, "deleted_at": None}


async def load_card_reports(records: RecordReader, *dashboards: Dashboard) -> ReportsById:
    """The live reports that dashboards list."""
    listed = {card.report_id for dashboard in dashboards for card in dashboard.layout.cards}
    return await records.get_many(Report, listed)


async def _resolving(records: RecordReader, dashboard: Resource) -> ResourceType:
    assert isinstance(dashboard, Dashboard)
    reports = await load_card_reports(records, dashboard)
    return replace(DASHBOARD_KIND, serialize=lambda state: shown(state, reports))


async def _hiding(records: RecordReader, report: Resource) -> ResourceType:
    """Reports, knowing the dashboards one of them stands on."""
    listing = [
        dashboard
        for dashboard in await records.list_all(Dashboard, mentioning_id=report.id)
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


DASHBOARD_KIND = ResourceType(Dashboard, Scope.WRITE_REPORTS, with_related=_resolving)
"""How dashboards are written."""

LISTED_REPORT_KIND = replace(REPORT_KIND, with_related=_hiding)
"""How reports are written that may stand on dashboards."""
