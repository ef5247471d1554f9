"""Links from numbers to the records behind them: receipts under the range and filters of a page, and lists of events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hosts.web.cards.card import Answer, Card, Number, Table
from hosts.web.cards.tiles import Tile
from hosts.web.charts.plot_model import Plot
from hosts.web.charts.proportion_charts import Row
from hosts.web.events import EVENT_FILTER_DIMENSIONS
from hosts.web.read_filters import exact_filter_parameters
from hosts.web.view_state import ViewState
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.models import BUCKET, OTHER_GROUP_LABEL
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.analytics.query.record_columns import can_list_records
from service_core.kernel.timestamps import format_timestamp

MAX_LINKED_ROWS: Final = 100
"""Rows of a table whose numbers are links; more would make pages large."""

RowFilters = Sequence[tuple[str, str]]
"""Dimension and value of each group of a row; `BUCKET` and ``SIZE:START``, such as ``day:2026-07-01T00:00:00.000Z``, of a bucket."""

LinkOf = Callable[[str, RowFilters], str]
"""Returns the address of the records behind the value of a metric in a row; empty where there are none to list."""


def has_receipt_page(catalog: Catalog, metric: str) -> bool:
    """Whether the records behind a metric can be listed."""
    return metric in catalog.metrics and can_list_records(catalog.metrics[metric])


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
    accepts = catalog.metrics[metric].accepts
    if not all(dimension == BUCKET or accepts(dimension) for dimension, _ in filters):
        return ""
    for dimension, value in filters:
        if dimension == BUCKET:
            parameters[BUCKET] = value
        else:
            state = state.with_filter(dimension, value)
    if len(state.filters) > MAX_FILTERS:
        return ""
    chosen = (("metric", metric), *((name, value) for name, value in parameters.items() if value))
    return f"/receipt{replace(state, page_parameters=chosen).query_string}"


def link_to_receipts(catalog: Catalog, state: ViewState, pages: str, **parameters: str) -> LinkOf:
    """Returns what gives the addresses of receipts under a range and filters.

    Args:
        catalog: of metrics and dimensions.
        state: range, filters and segment.
        pages: address of the pages of the workspace.
        parameters: further ones of the receipt page.
    """

    def link_of(metric: str, filters: RowFilters) -> str:
        link = receipt_link(catalog, state, metric, filters, **parameters)
        return f"{pages}{link}" if link else ""

    return link_of


def records_link_of_tile(catalog: Catalog, tile: Tile, state: ViewState) -> str:
    """The path and query string of the records that a tile counts: the events if they can be filtered alike, else its receipt."""
    if not tile.link or tile.note:
        return ""
    if tile.metric == "pageviews" and not exact_filter_parameters(state, EVENT_FILTER_DIMENSIONS)[1]:
        return f"/events{replace(state, page_parameters=(('event_name', 'page_view'),)).query_string}"
    return receipt_link(catalog, state, tile.metric)


def link_numbers_to_receipts(card: Card, answer: Answer, link_of: LinkOf) -> Card:
    """Returns the card of an answer of `POST /query` with its totals, and the numbers of its rows, as links.

    Args:
        card: of the answer.
        answer: it.
        link_of: the address of the receipt of a metric, under the filters of a row.
    """
    metrics = [column["id"] for column in answer["columns"] if column["kind"] == "metric"]
    linked = replace(card, numbers=link_numbers(card.numbers, metrics, link_of))
    if card.shape == "numbers":
        return replace(linked, figure=link_numbers(card.figure, metrics, link_of))
    if card.shape == "table":
        return replace(linked, figure=_link_cells(card.figure, answer, metrics, link_of))
    if card.shape == "rows":
        linked = replace(linked, figure=_link_bars(card.figure, answer, metrics[0], link_of))
    return replace(linked, table=card.table and _link_cells(card.table, answer, metrics, link_of))


def link_numbers(numbers: Iterable[Number], metrics: Sequence[str], link_of: LinkOf) -> tuple[Number, ...]:
    """Returns numbers with links to their receipts; unknown ones lead nowhere."""
    return tuple(
        number if number.unknown else replace(number, link=link_of(metric, ()))
        for number, metric in zip(numbers, metrics, strict=False)
    )


def link_trend(card: Card, metric: str, answer: Answer, link_of: LinkOf) -> Card:
    """Returns the card of one metric over time with its total, and the values of its buckets, as links.

    Args:
        card: of the metric.
        metric: its id.
        answer: of `POST /query` with an interval and no dimensions.
        link_of: the address of the receipt of a metric, under the filters of a row.
    """
    linked = replace(card, numbers=link_numbers(card.numbers, [metric], link_of))
    if card.table is None or not isinstance(card.figure, Plot):
        return linked
    row_by_bucket = {row[BUCKET]: row for row in answer["rows"]}
    rows = [
        row_by_bucket.get(format_timestamp(bucket.start), {})
        for bucket in card.figure.buckets
        if bucket.start
    ]
    links = tuple(
        (_link_of_value(row, metric, answer, link_of) if row.get(metric) else "", "")
        for row in rows[:MAX_LINKED_ROWS]
    )
    return replace(linked, table=replace(card.table, number_links=links))


def link_funnel_steps(card: Card, link_of: Callable[[int, str], str]) -> Card:
    """Returns the card of a funnel with the counts of its steps as links.

    Args:
        card: of the funnel.
        link_of: the address of the people of a step by its number, who ``reached`` it or ``dropped`` off before it.
    """
    if card.shape != "steps":
        return card
    steps = tuple(
        replace(step, reached=link_of(step.number, "reached"), lost=link_of(step.number, "dropped"))
        for step in card.figure
    )
    table = card.table and replace(
        card.table,
        number_links=tuple(
            (step.reached, "", "", step.lost if step.number > 1 else "", "") for step in steps
        ),
    )
    return replace(card, figure=steps, table=table)


def _link_cells(table: Table, answer: Answer, metrics: Sequence[str], link_of: LinkOf) -> Table:
    links = tuple(
        tuple(_link_of_value(row, metric, answer, link_of) for metric in metrics)
        for row in answer["rows"][:MAX_LINKED_ROWS]
    )
    return replace(table, number_links=links)


def _link_bars(bars: Sequence[Row], answer: Answer, metric: str, link_of: LinkOf) -> tuple[Row, ...]:
    linked = (
        replace(bar, records=_link_of_value(row, metric, answer, link_of))
        for bar, row in zip(bars, answer["rows"][:MAX_LINKED_ROWS], strict=False)
    )
    return (*linked, *bars[MAX_LINKED_ROWS:])


def _link_of_value(row: Mapping[str, Any], metric: str, answer: Answer, link_of: LinkOf) -> str:
    """The receipt of a value of a row; none for unknown values and for the rest of the largest groups."""
    filters = [_filter_of_group(row, column) for column in answer["columns"] if column["kind"] == "dimension"]
    if BUCKET in row:
        filters.append((BUCKET, f"{answer['meta']['resolved']['interval']}:{row[BUCKET]}"))
    is_rest = any(value == OTHER_GROUP_LABEL for _, value in filters)
    return "" if row[metric] is None or is_rest else link_of(metric, filters)


def _filter_of_group(row: Mapping[str, Any], column: Answer) -> tuple[str, str]:
    value = row[column["id"]]
    return column["id"], NOT_SET if value is None else str(value)
