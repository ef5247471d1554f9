"""The reports that the cards of dashboards show."""

from collections.abc import Sequence
from uuid import UUID

from service_core.changes.resource import RecordReader, State
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.reports.models import Report, ReportsById


async def load_card_reports(records: RecordReader, *dashboards: Dashboard) -> ReportsById:
    """Returns the live reports on the cards of dashboards."""
    listed = {card.report_id for dashboard in dashboards for card in dashboard.layout.cards}
    return await records.get_many(Report, listed)


async def describe_cards_hidden_by_deletion(
    records: RecordReader, prior: State | None, new: State | None
) -> Sequence[State]:
    """Returns, for a deleted report, the dashboards that no longer show it."""
    if new is not None or prior is None:
        return ()
    return [
        {
            "type": "card_hidden",
            "summary": f"'{prior['name']}' no longer shows on the dashboard '{dashboard.name}'",
            "key": str(dashboard.id),
        }
        for dashboard in await records.list_all(Dashboard, mentioning_id=UUID(prior["id"]))
        if any(str(card.report_id) == prior["id"] for card in dashboard.layout.cards)
    ]
