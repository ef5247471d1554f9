"""Search of a workspace: its pages, saved objects, links, people, and values that events have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote, urlencode

from quart import Response, request

from hosts.web.ads import path_of_ad_entity
from hosts.web.api_client import NOTHING_READ, ApiResult
from hosts.web.navigation import list_open_entries
from hosts.web.overview_tabs import filterable_dimensions
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value
from hosts.web.value_words import person_path
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog

MAX_RESULTS: Final = 30
MAX_QUERY_LENGTH: Final = 200
_MIN_QUERY_LENGTH: Final = 2
_TYPE_LABELS: Final[Mapping[str, str]] = {
    "report": "Reports", "dashboard": "Dashboards", "analysis": "Analyses", "link": "Links", "user": "People",
    "campaign": "Campaigns", "source": "Sources", "page": "Pages of your site", "event": "Events", "product": "Products",
    "tag": "Link tags", "ad_group": "Ad groups", "ad": "Ads", "metric": "Metrics",
}  # fmt: skip
"""Type of a result -> heading, in the order of the page."""

_OBJECT_PATHS: Final = {
    "report": "/reports", "dashboard": "/dashboards", "analysis": "/analyses", "link": "/links",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchGroup:
    """Results of one kind: name and path below the workspace of each."""

    title: str
    results: Sequence[tuple[str, str]]


async def show_search(context: PageContext, public_id: str) -> Response:
    """The results for the words in the address; with ``part`` in the query the list alone."""
    view = await open_workspace_view(context, public_id)
    query = request.args.get("q", "")[:MAX_QUERY_LENGTH].strip()
    read = NOTHING_READ
    if len(query) >= _MIN_QUERY_LENGTH:
        read = await view.get("/search", q=query, limit=str(MAX_RESULTS))
    groups = [*_pages_of_application(context, view, query), *_group_results(context, read)]
    template = "search_results.html" if request.args.get("part") else "search.html"
    return await view.render(
        template,
        query=query,
        groups=groups,
        problem=read.problem,
        is_too_short=len(query) < _MIN_QUERY_LENGTH,
    )


def _pages_of_application(context: PageContext, view: WorkspaceView, query: str) -> list[SearchGroup]:
    """The entries of the navigation whose name has the words; all of them without words."""
    entries = list_open_entries(context.entries, context.routes, view.member)
    found = [(entry.label, entry.path) for entry in entries if query.casefold() in entry.label.casefold()]
    return [SearchGroup("Go to", found)] if found else []


def _group_results(context: PageContext, read: ApiResult) -> list[SearchGroup]:
    order = list(_TYPE_LABELS)
    dimensions = filterable_dimensions(context.component(Catalog))
    linked = [
        (result["type"], _label_of(result), _path_of(result, dimensions))
        for result in read.data.get("results", ())
        if result["type"] in _TYPE_LABELS
    ]
    linked.sort(key=lambda each: order.index(each[0]))
    return [
        SearchGroup(_TYPE_LABELS[type_], list(dict.fromkeys((label, path) for _, label, path in some)))
        for type_, some in groupby(linked, key=lambda each: each[0])
    ]


def _label_of(result: Mapping[str, Any]) -> str:
    dimension = result["dimension"]
    is_value = dimension is not None and result["type"] not in _OBJECT_PATHS and result["id"] is None
    return label_dimension_value(dimension, result["value"]) if is_value else str(result["label"])


def _path_of(result: Mapping[str, Any], dimensions: Mapping[str, str]) -> str:
    """Path and query string of what a result leads to: for values of the last 90 days, what the page shows of these days."""
    type_, value = result["type"], result["value"]
    if type_ in _OBJECT_PATHS:
        return f"{_OBJECT_PATHS[type_]}/{quote(result['id'], safe='')}"
    if type_ == "user":
        return person_path({"user_id": value, "visitor_id": value})
    if type_ == "metric":
        return f"/explore?{urlencode({'metrics': value})}"
    dimension = result["dimension"]
    if result["platform"]:
        return path_of_ad_entity(dimension, value)
    selection = {"range": "last_90_days", "f": f"{dimension}:is:{value}"}
    if dimension in dimensions:
        return f"?{urlencode(selection)}"
    return f"/explore?{urlencode({'metrics': 'revenue', **selection})}"


PAGES: Final = (Page("GET /w/<public_id>/search", show_search),)
