"""Runs the cards of a dashboard over one range and within one time budget."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.query.schemas import FilterBody, parse_filters_accepted_by_metrics
from service_core.analytics.reads.metric_values import resolve_range_reading_first_event_for_all_time
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.dashboards.models import Card, CardSize, Dashboard
from service_core.workspace.dashboards.schemas import RunOverrides
from service_core.workspace.dashboards.validate_layout import MAX_CARDS
from service_core.workspace.reports.models import ReportsById
from service_core.workspace.reports.run_batch import ReportBatchRunner, ReportOutcome, ReportRunRequest
from service_core.workspace.reports.run_report import to_explicit_range
from service_core.workspace.validation import validate_date_range

_OVERRIDES_FIELD: Final = "overrides"


class CardRun(ReportOutcome):
    """The outcome of one card."""

    size: CardSize


class DashboardRun(ResponseModel):
    """The result of a dashboard run."""

    dashboard_id: UUID
    name: str
    range: RangeResponse
    filters: list[FilterBody]
    partial: bool
    cards: list[CardRun]


async def run_dashboard(
    caller: Caller,
    dashboard: Dashboard,
    reports: ReportsById,
    overrides: RunOverrides,
    runner: ReportBatchRunner,
) -> DashboardRun:
    """Returns the outcome of each card of a dashboard.

    Args:
        caller: whose workspace is read, and the present.
        dashboard: a dashboard of that workspace.
        reports: the live reports of its cards.
        overrides: range, filters, cards and row limit of this run.
        runner: runs the reports within the time budget.

    Raises:
        BadRequest: ``invalid_date_range``, ``too_many_cards``, or the code of an invalid filter.
        Unprocessable: ``unknown_card``.
    """
    if overrides.date_range is not None:
        validate_date_range(overrides.date_range, caller, f"{_OVERRIDES_FIELD}.date_range")
    parse_filters_accepted_by_metrics(
        runner.reports.queries.catalog, (), overrides.filters or (), f"{_OVERRIDES_FIELD}.filters"
    )
    filters = list(dashboard.filters) if overrides.filters is None else overrides.filters
    cards = _select_cards_in_layout_order(dashboard.layout.cards, overrides.card_ids)
    date_range = await resolve_range_reading_first_event_for_all_time(
        overrides.date_range or dashboard.date_range, caller, runner.reports.event_reader
    )
    explicit_range = to_explicit_range(date_range)
    requests = [
        ReportRunRequest(
            card.report_id, reports.get(card.report_id), explicit_range, filters, overrides.row_limit
        )
        for card in cards
    ]
    outcomes = await runner.run_within_budget(caller, requests)
    return DashboardRun(
        dashboard_id=dashboard.id,
        name=dashboard.name,
        range=RangeResponse.from_range(date_range),
        filters=filters,
        partial=not all(outcome.is_final for outcome in outcomes),
        cards=[
            CardRun(**dict(outcome), size=card.size) for card, outcome in zip(cards, outcomes, strict=True)
        ],
    )


def _select_cards_in_layout_order(cards: Sequence[Card], report_ids: Sequence[UUID] | None) -> list[Card]:
    """Returns the cards to run, in the order of the layout."""
    if report_ids is None:
        return list(cards)
    if len(report_ids) > MAX_CARDS:
        raise BadRequest(f"At most {MAX_CARDS} cards", "too_many_cards", field=f"{_OVERRIDES_FIELD}.card_ids")
    on_dashboard = {card.report_id for card in cards}
    for position, report_id in enumerate(report_ids):
        if report_id not in on_dashboard:
            raise Unprocessable(
                "The dashboard has no card of this report",
                "unknown_card",
                field=f"{_OVERRIDES_FIELD}.card_ids[{position}]",
                hint="card_ids are the report_id values of its layout.",
            )
    return [card for card in cards if card.report_id in set(report_ids)]
