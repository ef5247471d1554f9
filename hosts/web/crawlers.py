"""Crawlers: AI companies' crawlers, assistants acting for people, search engines and other bots, beside people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, Card, DisplayContext, message_card
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.queries import build_query_card_by_columns
from hosts.web.concurrent_reads import gather_two_at_a_time
from hosts.web.number_links import (
    LinkOf,
    RowFilters,
    link_numbers_to_receipts,
    link_to_receipts,
    receipt_link,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import DATES_ONLY, RangeBar
from hosts.web.value_labels import CRAWLER_CLASSES, label_dimension_value
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.measures import NOT_SET
from service_core.analytics.query.catalog import Catalog

MAX_CRAWLERS: Final = 200
MAX_PAGES: Final = 20
_METRICS: Final = ("events", "pageviews", "visitors")
_CLASS_NOTES: Final[Mapping[str, str]] = {
    "ai_assistant": "Fetch a page when someone asks an assistant about it.",
    "ai_search": "Collect pages for AI search and answer engines.",
    "ai_training": "Collect pages to train AI models.",
    "search_engine": "Collect pages for search engines.",
    "other": "Link previews, monitoring, SEO tools, scripts.",
    NOT_SET: "Headless browsers, prefetches and anything else that identifies as a bot.",
}
_PEOPLE: Final = "people"
_ONLY_BOTS: Final = ("is_bot", "true")


@dataclass(frozen=True, slots=True)
class ClassLine:
    """One kind of visitor in the first table.

    Attributes:
        id: value of the dimension ``crawler_class``; ``people`` for everybody else.
        values: requests, page views and visitors in words, each with the path of its records; empty for none.
        link: query string of the page with this kind alone; empty for people.
    """

    id: str
    label: str
    note: str
    values: tuple[tuple[str, str], ...]
    link: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class CrawlerLine:
    """One crawler in the second table."""

    label: str
    kind: str
    values: tuple[tuple[str, str], ...]
    link: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class CrawlerNumbers:
    """Numbers of a row in words, with links to their records."""

    catalog: Catalog
    setting: DisplayContext
    state: ViewState

    def of_row(self, row: Answer | None, filters: RowFilters) -> tuple[tuple[str, str], ...]:
        """Text and link of each metric; a row that is missing has zeros.

        Args:
            row: of the answer.
            filters: of the row; without any it is the row of people.
        """
        count, bots = self.setting.format_for("count"), "1" if filters else ""
        if row is None:
            return tuple((count.format_in_full_or_dash(0), "") for _ in _METRICS)
        return tuple(
            (
                count.format_in_full_or_dash(row[id_]),
                receipt_link(self.catalog, self.state, id_, filters, bots=bots) if row[id_] else "",
            )
            for id_ in _METRICS
        )


async def show_crawlers(context: PageContext, public_id: str) -> Response:
    """Kinds of crawlers beside people, each crawler, requests over time, and the pages they fetch."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, ("class", "crawler"))
    chosen = dict(state.page_parameters)
    filters = _chosen_filters(chosen)
    setting = build_display_context(context.component(Catalog), view.workspace)
    formatted = CrawlerNumbers(context.component(Catalog), setting, state.for_everybody)
    link_of = _link_to_requests_of_bots(
        context.component(Catalog), state, filters, f"{context.base}{view.path}"
    )
    crawlers, kinds, series, pages = await _read_crawlers(view, state, filters)
    return await view.render(
        "crawlers.html",
        bar=RangeBar(state, f"{context.base}{view.path}/crawlers", {}, DATES_ONLY),
        state=state,
        problem=next((read.message for read in (kinds, crawlers) if not read.ok), None),
        has_bots=kinds.ok and any(row["is_bot"] == "true" for row in kinds.body["rows"]),
        heads=[setting.label(id_) if id_ != "events" else "Requests" for id_ in _METRICS],
        classes=_class_lines(kinds.body["rows"], formatted, state, chosen) if kinds.ok else [],
        crawlers=_crawler_lines(crawlers.body["rows"], formatted, state, chosen) if crawlers.ok else [],
        truncated=crawlers.ok and crawlers.body["meta"]["truncated"],
        chosen_label=_chosen_label(chosen),
        all_link=state.link(**{"class": None, "crawler": None}),
        series_card=_build_large_card("Requests over time", series, setting, link_of),
        pages_card=_build_large_card("Most fetched pages", pages, setting, link_of),
    )


async def _read_crawlers(
    view: WorkspaceView, state: ViewState, filters: Sequence[Mapping[str, Any]]
) -> tuple[ApiResult, ...]:
    """Returns the answers by crawler, by kind, over time and by page."""
    query = partial(_query_including_bots, view, state)
    return await gather_two_at_a_time(
        (
            partial(query, filters[:1], dimensions=["crawler_class", "crawler"], limit=MAX_CRAWLERS),
            partial(query, [], dimensions=["is_bot", "crawler_class"], limit=20),
            partial(
                query, filters, metrics=["events"], dimensions=["crawler_class"], interval=state.interval
            ),
            partial(query, filters, metrics=["events"], dimensions=["page_path"], limit=MAX_PAGES),
        )
    )


def _chosen_filters(chosen: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns the filters of the chosen kind and crawler, the kind first; bots alone without a choice."""
    kind, crawler = chosen.get("class"), chosen.get("crawler")
    by_kind = {"dimension": "crawler_class", "value": kind} if kind else None
    by_crawler = {"dimension": "crawler", "value": crawler} if crawler else None
    return [by_kind or {"dimension": "is_bot", "value": "true"}, *([by_crawler] if by_crawler else [])]


async def _query_including_bots(
    view: WorkspaceView, state: ViewState, filters: Sequence[Mapping[str, Any]], **plan: Any
) -> ApiResult:
    """Returns the answer about visitors with bots among them."""
    dates = state.query_body_parts(with_comparison=False)["date_range"]
    only_bots = [] if "is_bot" in plan["dimensions"] else [{"dimension": "is_bot", "value": "true"}]
    kept = [one for one in filters if one["dimension"] != "is_bot"]
    body = {"metrics": list(_METRICS), "date_range": dates, "include_bots": True, **plan}
    return await view.send("POST", "/query", body | {"filters": [*only_bots, *kept]})


def _class_lines(
    rows: Sequence[Answer], numbers: CrawlerNumbers, state: ViewState, chosen: Mapping[str, str]
) -> list[ClassLine]:
    """Returns every kind of crawler, also one that did not come, then people."""
    values = {_line_id(row): row for row in rows}
    lines = [
        ClassLine(
            kind,
            label_dimension_value("crawler_class", kind),
            _CLASS_NOTES[kind],
            numbers.of_row(values.get(kind), [_ONLY_BOTS, ("crawler_class", kind)]),
            state.link(**{"class": kind, "crawler": None}),
            chosen.get("class") == kind,
        )
        for kind in (*CRAWLER_CLASSES, NOT_SET)
    ]
    people = ClassLine(_PEOPLE, "People", "", numbers.of_row(values.get(_PEOPLE), ()), "", is_chosen=False)
    return [*lines, people]


def _line_id(row: Answer) -> str:
    if row["is_bot"] != "true":
        return _PEOPLE
    return str(row["crawler_class"] or NOT_SET)


def _crawler_lines(
    rows: Sequence[Answer], numbers: CrawlerNumbers, state: ViewState, chosen: Mapping[str, str]
) -> list[CrawlerLine]:
    return [
        CrawlerLine(
            label_dimension_value("crawler", row["crawler"]),
            label_dimension_value("crawler_class", row["crawler_class"]),
            numbers.of_row(
                row,
                [
                    _ONLY_BOTS,
                    ("crawler_class", row["crawler_class"] or NOT_SET),
                    ("crawler", row["crawler"] or NOT_SET),
                ],
            ),
            state.link(**{"class": row["crawler_class"] or NOT_SET, "crawler": row["crawler"] or NOT_SET}),
            (chosen.get("class"), chosen.get("crawler"))
            == (row["crawler_class"] or NOT_SET, row["crawler"] or NOT_SET),
        )
        for row in rows
    ]


def _link_to_requests_of_bots(
    catalog: Catalog, state: ViewState, filters: Sequence[Mapping[str, Any]], pages: str
) -> LinkOf:
    """Returns what gives the addresses of receipts under the chosen kind and crawler."""
    state = state.for_everybody.with_filter(*_ONLY_BOTS)
    for one in filters:
        state = state.with_filter(one["dimension"], one["value"])
    return link_to_receipts(catalog, state, pages, bots="1")


def _chosen_label(chosen: Mapping[str, str]) -> str:
    if crawler := chosen.get("crawler"):
        return label_dimension_value("crawler", crawler)
    kind = chosen.get("class")
    return label_dimension_value("crawler_class", kind) if kind else ""


def _build_large_card(title: str, read: ApiResult, setting: DisplayContext, link_of: LinkOf) -> Card:
    """Returns the large card of an answer; one that says why there is none when the read failed."""
    if not read.ok:
        return message_card(title, read.message, "lg")
    card = replace(build_query_card_by_columns(title, read.body, setting), size="lg", numbers=())
    return link_numbers_to_receipts(card, read.body, link_of)


PAGES: Final = (Page("GET /w/<public_id>/crawlers", show_crawlers),)
