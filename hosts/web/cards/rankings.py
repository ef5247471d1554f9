"""Rankings: the largest values of a dimension as a bar list whose rows filter the page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hosts.web.cards.card import Answer, Card, DisplayContext, message_card
from hosts.web.cards.queries import QueryAnswer, bar_list_rows_with_shares
from service_core.analytics.measures import NOT_SET

_PLACES: Final = frozenset({"country", "region", "city"})
NO_PLACES: Final = "Places are unknown. Set up a place database to see them."
"""What stands instead of a bar that says nothing."""


def build_ranking_card(
    title: str, data: Answer, setting: DisplayContext, *, empty: str, link_of: Callable[[str], str]
) -> Card:
    """The card of a ranking.

    Args:
        title: of the card.
        data: an answer of `POST /query` with one dimension and one metric.
        setting: of the workspace.
        empty: what the card says without rows.
        link_of: the query string that filters by a value.
    """
    answer = QueryAnswer(title, data, setting)
    (dimension,) = answer.dimensions
    values = [NOT_SET if row[dimension] is None else str(row[dimension]) for row in data["rows"]]
    metric = answer.metrics[0]["id"]
    if not any(row[metric] for row in data["rows"]):
        return message_card(title, empty)
    if dimension in _PLACES and values == [NOT_SET]:
        return message_card(title, NO_PLACES)
    rows = bar_list_rows_with_shares(answer)
    return Card(
        title,
        "rows",
        tuple(replace(row, link=link_of(value)) for row, value in zip(rows, values, strict=True)),
        notes=answer.notes_on_missing_data(with_truncation=False),
    )


def link_rows_to_filters(card: Card, data: Answer, link_of: Callable[[str, str], str]) -> Card:
    """The card with a link on each row of its bar list; any other card as it is.

    Args:
        card: of an answer.
        data: the answer of `POST /query`.
        link_of: dimension and value -> address that filters by the value.
    """
    dimensions = [column["id"] for column in data.get("columns", ()) if column["kind"] == "dimension"]
    if card.shape != "rows" or len(dimensions) != 1:
        return card
    (dimension,) = dimensions
    values = [NOT_SET if row[dimension] is None else str(row[dimension]) for row in data["rows"]]
    linked = (
        replace(row, link=link_of(dimension, value)) for row, value in zip(card.figure, values, strict=False)
    )
    return replace(card, figure=tuple(linked))
