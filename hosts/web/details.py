"""All rows of one dimension: searched, sorted, paged and downloaded."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiRequestFailed
from hosts.web.cards.card import Answer, DisplayContext
from hosts.web.cards.json_values import build_display_context
from hosts.web.overview_tabs import (
    DEFAULT_METRIC,
    TILE_METRICS,
    Tab,
    filterable_dimensions,
    find_tab,
    list_accepted_metrics,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.range_bar import FILTERS_AND_SEGMENTS, RangeBar
from hosts.web.segment_menu import add_segment_dimensions
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.parse_filters import MAX_FILTERS
from service_core.analytics.reads.countries import COUNTRIES
from service_core.kernel.errors import NotFound
from service_core.kernel.file_response import FORMULA_STARTS

_PAGE_PARAMETERS: Final = ("q", "sort", "direction")
_ROWS_OF_PAGE: Final = 100
_ROWS_OF_DOWNLOAD: Final = 1000
_MAX_DOWNLOADED_ROWS: Final = 50_000
_MAX_LISTED_VALUES: Final = 100
_GOAL_METRICS: Final = ("conversions", "visitors", "events")


@dataclass(frozen=True, slots=True)
class SortLink:
    """A column of numbers, and the query string that sorts by it.

    Attributes:
        direction: ``ascending``, ``descending`` or empty where it is not sorted by.
    """

    label: str
    link: str
    direction: str


@dataclass(frozen=True, slots=True)
class DetailRow:
    """A value of the dimension with its numbers in words, and the query string of the overview filtered by it."""

    label: str
    link: str
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """What a page of details asks for.

    Attributes:
        tab: of the dimension.
        state: range and filters.
        metrics: columns that accept dimension and filters.
        search: text that values contain.
        sorted_by: a metric or the dimension.
        descending: the order.
    """

    tab: Tab
    state: ViewState
    metrics: Sequence[str]
    search: str
    sorted_by: str
    descending: bool

    def body(self, limit: int, cursor: str | None) -> dict[str, Any]:
        """The body of `POST /query`."""
        parts = self.state.query_body_parts(with_comparison=False)
        if self.search and len(parts["filters"]) < MAX_FILTERS:
            parts["filters"] = [*parts["filters"], _search_filter(self.tab.dimension, self.search)]
        return {
            "metrics": [*self.metrics],
            "dimensions": [self.tab.dimension],
            "order_by": [{"field": self.sorted_by, "direction": "desc" if self.descending else "asc"}],
            "limit": limit,
            **({"cursor": cursor} if cursor else {}),
            **parts,
        }

    def sort_link(self, column: str, label: str) -> SortLink:
        """The link that sorts by a column, the other way round when it is sorted by it already."""
        current = column == self.sorted_by
        to_ascending = self.descending if current else column == self.tab.dimension
        return SortLink(
            label,
            self.state.link(sort=column, direction="asc" if to_ascending else None),
            ("descending" if self.descending else "ascending") if current else "",
        )


async def render_details(context: PageContext, public_id: str, dimension: str) -> Response:
    """A page of rows of a dimension."""
    view = await open_workspace_view(context, public_id)
    asked = await _read_request(view, dimension)
    setting = build_display_context(context.component(Catalog), view.workspace)
    listed = await view.post("/query", asked.body(_ROWS_OF_PAGE, request.args.get("cursor")))
    cursor = listed.body["meta"]["next_cursor"] if listed.ok else None
    overview = f"{context.base}/w/{public_id}"
    catalog = context.component(Catalog)
    return await view.render(
        "details.html",
        navigation_path="",
        title=asked.tab.label,
        bar=RangeBar(
            asked.state,
            "",
            filterable_dimensions(catalog),
            FILTERS_AND_SEGMENTS,
            f"{overview}/filter-values",
        ),
        search=asked.search,
        name=asked.sort_link(dimension, setting.label(dimension)),
        columns=[asked.sort_link(metric, setting.label(metric)) for metric in asked.metrics],
        rows=_build_rows(asked, listed.body, setting) if listed.ok else [],
        failure=None if listed.ok else listed.message,
        overview=overview,
        overview_query=_overview_state(asked.state).query_string,
        max_downloaded=f"{_MAX_DOWNLOADED_ROWS:,}",
        download=f"{overview}/details/{dimension}/csv{asked.state.query_string}",
        following=asked.state.link(cursor=cursor) if cursor else None,
        is_first=not request.args.get("cursor"),
    )


async def download_details(context: PageContext, public_id: str, dimension: str) -> Response:
    """At most 50,000 rows of a dimension as CSV."""
    view = await open_workspace_view(context, public_id)
    asked = await _read_request(view, dimension)
    columns = (dimension, *asked.metrics)
    text = _rows_as_csv(columns, await _read_all_rows(view, asked))
    name = f"{dimension}_{asked.state.first_day}_{asked.state.last_day}.csv"
    headers = {**uncached_page_headers(), "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, content_type="text/csv; charset=utf-8")


async def _read_request(view: WorkspaceView, dimension: str) -> DetailRequest:
    """What the address asks for.

    Raises:
        NotFound: no tab of the overview shows the dimension.
    """
    catalog = view.context.component(Catalog)
    tab = find_tab(catalog, dimension)
    if tab is None:
        raise NotFound
    state = read_view_state(request.args, view.workspace.zone, view.context.clock(), _PAGE_PARAMETERS)
    state = await add_segment_dimensions(view, state)
    given = dict(state.page_parameters)
    offered = _GOAL_METRICS if tab.metric else TILE_METRICS
    metrics = list_accepted_metrics(catalog, offered, state, dimension) or [DEFAULT_METRIC]
    wanted = given.get("sort", "")
    sorted_by = wanted if wanted in (*metrics, dimension) else metrics[0]
    return DetailRequest(
        tab, state, metrics, given.get("q", "").strip(), sorted_by, descending=given.get("direction") != "asc"
    )


def _search_filter(dimension: str, text: str) -> dict[str, Any]:
    """The filter of a search; countries are found by their names, which the store does not know."""
    if dimension != "country":
        return {"dimension": dimension, "op": "contains", "value": text}
    wanted = text.casefold()
    codes = [
        code for code, name in COUNTRIES.items() if wanted in name.casefold() or wanted == code.casefold()
    ]
    return {"dimension": dimension, "op": "in", "value": codes[:_MAX_LISTED_VALUES] or [text]}


def _build_rows(asked: DetailRequest, data: Answer, setting: DisplayContext) -> list[DetailRow]:
    units = {column["id"]: column["unit"] for column in data["columns"] if column["kind"] == "metric"}
    dimension, overview = asked.tab.dimension, _overview_state(asked.state)
    return [
        DetailRow(
            label_dimension_value(dimension, row[dimension]),
            overview.with_filter(dimension, str(row[dimension] or NOT_SET)).query_string,
            tuple(
                setting.format_for(units[metric], metric).format_in_full_or_dash(row[metric])
                for metric in asked.metrics
            ),
        )
        for row in data["rows"]
    ]


def _overview_state(state: ViewState) -> ViewState:
    """The state without search and order."""
    return replace(state, page_parameters=())


async def _read_all_rows(view: WorkspaceView, asked: DetailRequest) -> list[Answer]:
    """At most 50,000 rows, a thousand at a time.

    Raises:
        ApiRequestFailed: the API refused a request.
    """
    rows: list[Answer] = []
    cursor = None
    while True:
        listed = await view.post("/query", asked.body(_ROWS_OF_DOWNLOAD, cursor))
        if not listed.ok:
            raise ApiRequestFailed(listed)
        rows += listed.body["rows"]
        cursor = listed.body["meta"]["next_cursor"]
        if cursor is None or len(rows) >= _MAX_DOWNLOADED_ROWS:
            return rows


def _rows_as_csv(columns: Sequence[str], rows: Sequence[Answer]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    """A value of a cell; a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


PAGES: Final = (
    Page("GET /w/<public_id>/details/<dimension>", render_details),
    Page("GET /w/<public_id>/details/<dimension>/csv", download_details),
)
