"""Links from numbers to the records behind them: receipts under the range and filters of a page, and lists of events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hosts.web.cards.card import Answer, Card, Number, Table
from hosts.web.cards.tiles import Tile
from hosts.web.events import EVENT_FILTER_DIMENSIONS
from hosts.web.read_filters import exact_filter_parameters
from hosts.web.view_state import ViewState
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.models import OTHER_GROUP_LABEL
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.analytics.query.record_columns import has_receipt

MAX_LINKED_ROWS: Final = 100
"""Rows of a table whose numbers are links; more would make pages large."""

RowFilters = Sequence[tuple[str, str]]
"""Dimension and value of each group of a row."""


def has_receipt_page(catalog: Catalog, metric: str) -> bool:
    """Whether the records behind a metric can be listed."""
    return metric in catalog.metrics and has_receipt(catalog.metrics[metric])


def receipt_link(
    catalog: Catalog, state: ViewState, metric: str, filters: RowFilters = (), **parameters: str
) -> str:
    """The path and query string of the receipt of a number; empty where its records cannot be listed.

    Args:
        catalog: of metrics and dimensions.
        state: range, filters and segment of the page.
        metric: its id.
        filters: of the number beside those of the page.
        parameters: further ones of the receipt page; empty ones are left out.
    """
    if not has_receipt_page(catalog, metric):
        return ""
    if not all(catalog.metrics[metric].accepts(dimension) for dimension, _ in filters):
        return ""
    for dimension, value in filters:
        state = state.with_filter(dimension, value)
    if len(state.filters) > MAX_FILTERS:
        return ""
    chosen = (("metric", metric), *((name, value) for name, value in parameters.items() if value))
    return f"/receipt{replace(state, page_parameters=chosen).query_string}"


def records_link_of_tile(catalog: Catalog, tile: Tile, state: ViewState) -> str:
    """The path and query string of the records that a tile counts: the events if they can be filtered alike, else its receipt."""
    if not tile.link or tile.note:
        return ""
    if tile.metric == "pageviews" and not exact_filter_parameters(state, EVENT_FILTER_DIMENSIONS)[1]:
        return f"/events{replace(state, page_parameters=(('event_name', 'page_view'),)).query_string}"
    return receipt_link(catalog, state, tile.metric)


def link_numbers_to_receipts(card: Card, answer: Answer, link_of: Callable[[str, RowFilters], str]) -> Card:
    """Returns the card of an answer of `POST /query` with its totals, and the numbers of its rows, as links.

    Rows by time have no links: their buckets are not filters.

    Args:
        card: of the answer.
        answer: it.
        link_of: the address of the receipt of a metric, under the filters of a row.
    """
    metrics = [column["id"] for column in answer["columns"] if column["kind"] == "metric"]
    linked = replace(card, numbers=link_numbers(card.numbers, metrics, link_of))
    if card.shape == "numbers":
        return replace(linked, figure=link_numbers(card.figure, metrics, link_of))
    if any(column["kind"] == "bucket" for column in answer["columns"]):
        return linked
    if card.shape == "table":
        return replace(linked, figure=_link_cells(card.figure, answer, metrics, link_of))
    return replace(linked, table=card.table and _link_cells(card.table, answer, metrics, link_of))


def link_numbers(
    numbers: Iterable[Number], metrics: Sequence[str], link_of: Callable[[str, RowFilters], str]
) -> tuple[Number, ...]:
    """Returns numbers with links to their receipts; unknown ones lead nowhere."""
    return tuple(
        number if number.unknown else replace(number, link=link_of(metric, ()))
        for number, metric in zip(numbers, metrics, strict=False)
    )


def _link_cells(
    table: Table, answer: Answer, metrics: Sequence[str], link_of: Callable[[str, RowFilters], str]
) -> Table:
    dimensions = [column["id"] for column in answer["columns"] if column["kind"] == "dimension"]
    links = tuple(
        tuple(_link_of_cell(row, metric, dimensions, link_of) for metric in metrics)
        for row in answer["rows"][:MAX_LINKED_ROWS]
    )
    return replace(table, number_links=links)


def _link_of_cell(
    row: Mapping[str, Any], metric: str, dimensions: Sequence[str], link_of: Callable[[str, RowFilters], str]
) -> str:
    """The receipt of a cell; none for unknown values and for the rest of the largest groups."""
    values = [NOT_SET if row[dimension] is None else str(row[dimension]) for dimension in dimensions]
    if row[metric] is None or OTHER_GROUP_LABEL in values:
        return ""
    return link_of(metric, list(zip(dimensions, values, strict=True)))
