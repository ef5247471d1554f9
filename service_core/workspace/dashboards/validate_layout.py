"""Validation of layouts and filters of dashboards."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from service_core.analytics.measures import FilterOperator
from service_core.analytics.query import schemas
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.schemas import FilterBody
from service_core.changes.resource import RecordReader
from service_core.kernel.errors import Unprocessable
from service_core.workspace.dashboards.models import LAYOUT_VERSION, Card, Layout, default_card_size
from service_core.workspace.dashboards.schemas import NewCard, NewLayout
from service_core.workspace.reports.models import Report
from service_core.workspace.validation import bad_request_as_unprocessable

MAX_CARDS: Final = 24
_CARDS_FIELD: Final = "dashboard.layout.cards"


def validate_equality_filters(filters: Sequence[FilterBody], catalog: Catalog) -> tuple[FilterBody, ...]:
    """Returns the filters if a dashboard can store them: those of `/query` with the operator ``eq``.

    Raises:
        Unprocessable: ``invalid_filter``.
    """
    with bad_request_as_unprocessable("dashboard", "invalid_filter"):
        schemas.parse_filters_accepted_by_metrics(catalog, (), filters)
    for position, condition in enumerate(filters):
        if condition.op != FilterOperator.EQ:
            raise Unprocessable(
                "Dashboards compare for equality only",
                "invalid_filter",
                field=f"dashboard.filters[{position}].op",
                hint="Leave op out, or put the filter into the plan of a report.",
            )
    return tuple(filters)


async def validate_layout(layout: NewLayout, records: RecordReader) -> Layout:
    """Returns the layout with the size of every card filled in.

    Raises:
        Unprocessable: ``invalid_layout``, ``too_many_cards``, ``duplicate_report``, ``unknown_report``.
    """
    if layout.v != LAYOUT_VERSION:
        raise Unprocessable(
            f"Layouts have the version {LAYOUT_VERSION}", "invalid_layout", field="dashboard.layout.v"
        )
    if len(layout.cards) > MAX_CARDS:
        raise Unprocessable(f"At most {MAX_CARDS} cards", "too_many_cards", field=_CARDS_FIELD)
    seen: set[UUID] = set()
    for position, card in enumerate(layout.cards):
        if card.report_id in seen:
            raise Unprocessable(
                "A dashboard has at most one card of a report",
                "duplicate_report",
                field=f"{_CARDS_FIELD}[{position}].report_id",
            )
        seen.add(card.report_id)
    reports = await records.get_many(Report, seen)
    cards = [_card_of_live_report(card, position, reports) for position, card in enumerate(layout.cards)]
    return Layout(cards=tuple(cards))


def _card_of_live_report(card: NewCard, position: int, live_reports: Mapping[UUID, Report]) -> Card:
    report = live_reports.get(card.report_id)
    if report is None:
        raise Unprocessable(
            "A card names a report that is not live",
            "unknown_report",
            field=f"{_CARDS_FIELD}[{position}].report_id",
            hint="GET /reports lists the reports; remove the card, or undo the delete of its report.",
        )
    return Card(report_id=report.id, size=card.size or default_card_size(report.kind))


def reorder_cards(layout: Layout, report_ids: Sequence[UUID]) -> Layout:
    """Returns the layout with its cards in another order.

    Raises:
        Unprocessable: ``invalid_layout``, unless each card is named once.
    """
    cards = {card.report_id: card for card in layout.cards}
    if len(report_ids) != len(cards) or set(report_ids) != cards.keys():
        raise Unprocessable(
            "report_ids must name each card once",
            "invalid_layout",
            field="report_ids",
            hint="Send the report_id of every card of the dashboard.",
        )
    return Layout(cards=tuple(cards[report_id] for report_id in report_ids))
