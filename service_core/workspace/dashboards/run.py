"""Running a dashboard: its cards side by side, over one range, within one budget (specification, Run a dashboard)."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.insight.metric_values import resolved
from service_core.insight.query.requested import FilterBody, checked_filters
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.kernel.params import Answer
from service_core.workspace.cards import CardRuns, Outcome, Wanted
from service_core.workspace.dashboards.bodies import Overrides
from service_core.workspace.dashboards.layout import MOST_CARDS
from service_core.workspace.dashboards.model import Card, Dashboard, Size
from service_core.workspace.refusals import check_range
from service_core.workspace.reports.model import Reports
from service_core.workspace.reports.run import fixed

_WITHIN: Final = "overrides"


class CardRun(Outcome):
    """One card and what became of it."""

    size: Size


class DashboardRun(Answer):
    """A dashboard, run."""

    dashboard_id: UUID
    name: str
    range: RangeAnswer
    filters: list[FilterBody]
    partial: bool
    cards: list[CardRun]


async def run_dashboard(
    who: Caller,
    dashboard: Dashboard,
    reports: Reports,
    overrides: Overrides,
    runs: CardRuns,
) -> DashboardRun:
    """Run the cards of a dashboard for whoever asks.

    Args:
        who: whose workspace it is, and the present.
        dashboard: one of that workspace.
        reports: the live ones it lists.
        overrides: what is different this time.
        runs: runs the reports within the budget.

    Raises:
        BadRequest: ``invalid_date_range``, ``too_many_cards``, and what is wrong with a filter.
        Unprocessable: ``unknown_card``.
    """
    if overrides.date_range is not None:
        check_range(overrides.date_range, who, f"{_WITHIN}.date_range")
    checked_filters(runs.reports.questions.catalog, (), overrides.filters or (), f"{_WITHIN}.filters")
    filters = list(dashboard.filters) if overrides.filters is None else overrides.filters
    cards = _chosen(dashboard.layout.cards, overrides.card_ids)
    asked = await resolved(overrides.date_range or dashboard.date_range, who, runs.reports.log)
    over = fixed(asked)
    wanted = [
        Wanted(card.report_id, reports.get(card.report_id), over, filters, overrides.row_limit)
        for card in cards
    ]
    outcomes = await runs.run(who, wanted)
    return DashboardRun(
        dashboard_id=dashboard.id,
        name=dashboard.name,
        range=RangeAnswer.of(asked),
        filters=filters,
        partial=not all(outcome.is_known for outcome in outcomes),
        cards=[
            CardRun(**dict(outcome), size=card.size) for card, outcome in zip(cards, outcomes, strict=True)
        ],
    )


def _chosen(cards: Sequence[Card], ids: Sequence[UUID] | None) -> list[Card]:
    """The cards to run, in the order of the layout."""
    if ids is None:
        return list(cards)
    if len(ids) > MOST_CARDS:
        raise BadRequest(f"At most {MOST_CARDS} cards", "too_many_cards", field=f"{_WITHIN}.card_ids")
    known = {card.report_id for card in cards}
    for position, report_id in enumerate(ids):
        if report_id not in known:
            raise Unprocessable(
                "The dashboard has no card of this report",
                "unknown_card",
                field=f"{_WITHIN}.card_ids[{position}]",
                hint="card_ids are the report_id values of its layout.",
            )
    return [card for card in cards if card.report_id in set(ids)]
