"""Explore: any metrics by up to three dimensions over any range, saved as a report or shown as a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, cast

from quart import Response

from hosts.web.annotations import read_annotations
from hosts.web.api_client import ApiResult
from hosts.web.cards.annotations import mark_annotations
from hosts.web.cards.card import Answer, Card, DisplayContext, message_card
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.queries import QueryAnswer, build_query_card_by_columns, build_table_card
from hosts.web.cards.rankings import link_rows_to_filters
from hosts.web.cards.trends import build_trend_card
from hosts.web.charts.plot import Style
from hosts.web.explore_query import (
    CHART_LABELS,
    MAX_DIMENSIONS,
    MAX_METRICS,
    ExploreQuery,
    accepted_dimension_ids,
    read_explore_query,
)
from hosts.web.number_links import LinkOf, link_numbers_to_receipts, link_to_receipts, link_trend
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.range_bar import RangeBar
from hosts.web.reports import MAX_NAME_LENGTH, encode_object
from hosts.web.request_examples import build_request_examples
from hosts.web.workspace_view import open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

CATEGORY_LABELS: Final[Mapping[str, str]] = {
    "traffic": "Traffic", "engagement": "Engagement", "conversion": "Conversions", "revenue": "Revenue",
    "subscription": "Subscriptions", "ads": "Ads", "attributed": "Attributed to marketing", "blended": "Efficiency and profit",
    "delivery": "Conversions sent to platforms",
}  # fmt: skip


ROW_MEDIA_TYPES: Final[Mapping[str, str]] = {"csv": "text/csv", "ndjson": "application/x-ndjson"}
"""Format of a download -> the media type that the API answers."""


@dataclass(frozen=True, slots=True)
class ComparedTotal:
    """A metric over the whole range, and over the compared one.

    Attributes:
        label: name of the metric.
        current: value in words.
        previous: value of the compared range in words.
        change: relative change in words; empty when it has none.
        records: address of the records behind the current value; empty where they are not listed.
    """

    label: str
    current: str
    previous: str
    change: str
    records: str


async def show_explore(context: PageContext, public_id: str) -> Response:
    """The query of the address as a chart and a table, with the form to change it."""
    view = await open_workspace_view(context, public_id)
    catalog = await view.get_or_fail("/metrics/catalog")
    query = read_explore_query(view, catalog)
    body = query.request_body()
    result, marked = await gather_or_cancel(
        view.send("POST", "/query", body), read_annotations(view, query.state)
    )
    known = context.component(Catalog)
    setting = build_display_context(known, view.workspace)

    link_of = link_to_receipts(known, query.state, f"{context.base}{view.path}")
    return await view.render(
        "explore.html",
        query=query,
        bar=RangeBar(query.state, f"{context.base}{view.path}/explore", _dimension_labels(catalog, query)),
        card=mark_annotations(_explore_card(query, result, setting, link_of), marked, setting.zone),
        compared=_compared_totals(result, setting, link_of),
        receipt_links=[
            (
                setting.label(metric["id"]),
                replace(query.state, page_parameters=(("metric", metric["id"]),)).query_string,
            )
            for metric in catalog["metrics"]
            if metric["has_receipt"] and metric["id"] in query.metrics
        ],
        metric_groups=_metrics_by_category(catalog),
        dimension_choices=_dimension_labels(catalog, query),
        charts=CHART_LABELS,
        max_metrics=MAX_METRICS,
        max_dimensions=MAX_DIMENSIONS,
        examples=build_request_examples(
            f"{context.service.settings.http.effective_api_url}/v1", "/query", body
        ),
        definition=encode_object({"source": "query", "plan": query.plan, "default_range": query.date_range}),
        suggested_name=_title_of_query(query, setting)[:MAX_NAME_LENGTH],
        may_write=view.may(Scope.WRITE_REPORTS),
        once=new_token(),
        max_name=MAX_NAME_LENGTH,
    )


async def download_rows(context: PageContext, public_id: str, row_format: str) -> Response:
    """The rows of the query of the address as a CSV or NDJSON file, as the API answers them.

    Raises:
        NotFound: another format.
        ApiRequestFailed: the query is refused.
    """
    if row_format not in ROW_MEDIA_TYPES:
        raise NotFound
    view = await open_workspace_view(context, public_id)
    query = read_explore_query(view, await view.get_or_fail("/metrics/catalog"))
    media_type = ROW_MEDIA_TYPES[row_format]
    rows = await view.post_for_file("/query", query.download_body(), media_type)
    headers = uncached_page_headers() | {
        "Content-Disposition": f'attachment; filename="touchpoint-query.{row_format}"'
    }
    return Response(rows, 200, headers, content_type=f"{media_type}; charset=utf-8")


def _explore_card(
    query: ExploreQuery,
    result: ApiResult,
    setting: DisplayContext,
    link_of: LinkOf,
) -> Card:
    """Returns the card of the answer, its numbers as links; a query that is refused is a card that says why."""
    title = _title_of_query(query, setting)
    if not result.ok:
        return message_card(title, result.message, "lg")
    card = _draw_answer(query, title, result.body, setting)
    if query.is_trend_of_one_metric and query.chart != "table":
        return link_trend(card, query.metrics[0], result.body, link_of)
    card = link_numbers_to_receipts(card, result.body, link_of)
    return link_rows_to_filters(card, result.body, query.state.filter_link)


def _draw_answer(query: ExploreQuery, title: str, data: Answer, setting: DisplayContext) -> Card:
    if query.chart == "table":
        return replace(build_table_card(title, data, setting), size="lg")
    if query.is_trend_of_one_metric:
        return _trend_card_with_total(query, data, setting)
    style = cast(Style, query.chart) if query.is_over_time else None
    return replace(build_query_card_by_columns(title, data, setting, style), size="lg")


def _trend_card_with_total(query: ExploreQuery, data: Answer, setting: DisplayContext) -> Card:
    """Returns the card of one metric over time, with the line of the compared period and its notes."""
    answer = QueryAnswer(setting.label(query.metrics[0]), data, setting)
    card = build_trend_card(query.metrics[0], data, setting)
    return replace(card, numbers=answer.formatted_totals(), notes=answer.notes_on_missing_data())


def _title_of_query(query: ExploreQuery, setting: DisplayContext) -> str:
    """Returns ``Visitors and Sessions by Country``."""
    metrics = [setting.label(id_) for id_ in query.metrics]
    dimensions = [setting.label(id_) for id_ in query.grouped_by]
    return " by ".join(filter(None, (_join_words(metrics), _join_words(dimensions))))


def _join_words(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _compared_totals(result: ApiResult, setting: DisplayContext, link_of: LinkOf) -> list[ComparedTotal]:
    if not result.ok or not result.body["comparison"]:
        return []
    before = result.body["comparison"]["totals"]
    now = result.body["totals"]
    return [
        ComparedTotal(
            setting.label(column["id"]),
            setting.format_for(column["unit"], column["id"]).format_in_full_or_dash(now.get(column["id"])),
            setting.format_for(column["unit"], column["id"]).format_in_full_or_dash(before.get(column["id"])),
            _change_text(now.get(column["id"]), before.get(column["id"])),
            link_of(column["id"], ()) if now.get(column["id"]) is not None else "",
        )
        for column in result.body["columns"]
        if column["kind"] == "metric"
    ]


def _change_text(now: float | None, before: float | None) -> str:
    return f"{100 * (now - before) / before:+,.1f} %" if now is not None and before else ""


def _metrics_by_category(catalog: Answer) -> list[tuple[str, list[Answer]]]:
    """Returns the metrics under the names of their categories, in the order of the catalog."""
    grouped = groupby(catalog["metrics"], key=lambda metric: metric["category"])
    return [
        (CATEGORY_LABELS.get(category, category.replace("_", " ").capitalize()), list(metrics))
        for category, metrics in grouped
    ]


def _dimension_labels(catalog: Answer, query: ExploreQuery) -> dict[str, str]:
    """Returns the dimensions that suit the chosen metrics, and those that are chosen."""
    offered = accepted_dimension_ids(catalog, query.metrics) | set(query.dimensions)
    return {one["id"]: one["label"] for one in catalog["dimensions"] if one["id"] in offered}


PAGES: Final = (
    Page("GET /w/<public_id>/explore", show_explore),
    Page("GET /w/<public_id>/explore/rows/<row_format>", download_rows),
)
