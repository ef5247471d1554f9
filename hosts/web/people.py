"""People of a workspace: the list with search, filters and order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.events import read_offset
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, exact_filter_parameters, skipped_filter_labels
from hosts.web.value_labels import label_dimension_value
from hosts.web.value_words import format_day, humanize, person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.people.operations import MAX_PAGE_END

PAGE_SIZE: Final = 50
SORT_LABELS: Final[Mapping[str, str]] = {
    "last_seen": "Last seen",
    "first_seen": "First seen",
    "events": "Events",
    "revenue": "Revenue",
}
"""Order of the list -> its column."""

IDENTIFIED_LABELS: Final[Mapping[str, str]] = {
    "": "Everyone",
    "true": "With a user ID",
    "false": "Anonymous only",
}
_FILTER_DIMENSIONS: Final = ("utm_source", "utm_campaign", "country")
_PARAMETERS: Final = ("search", "identified", "sort")


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person in the list; texts are in words."""

    name: str
    path: str
    detail: str
    last_seen: str
    first_seen: str
    sessions: str
    events: str
    conversions: str
    revenue: str
    source: str
    country: str | None
    country_name: str


async def show_people(context: PageContext, public_id: str) -> Response:
    """People with an event in the range."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    people = await _read_people(view, state)
    chosen = dict(state.page_parameters)
    return await view.render(
        "people.html",
        state=state,
        chosen=chosen,
        sort=_chosen_sort(chosen),
        sorts=SORT_LABELS,
        identified=IDENTIFIED_LABELS,
        is_narrowed=bool(chosen.keys() - {"sort"} or state.is_filtered),
        bar=build_page_range_bar(context, view.workspace, "/people", state, _FILTER_DIMENSIONS),
        skipped=skipped_filter_labels(context, exact_filter_parameters(state, _FILTER_DIMENSIONS)[1]),
        **_list_values(people, state, view.workspace.zone),
    )


def _chosen_sort(chosen: Mapping[str, str]) -> str:
    sort = chosen.get("sort", "last_seen")
    return sort if sort in SORT_LABELS else "last_seen"


async def _read_people(view: WorkspaceView, state: ViewState) -> ApiResult:
    chosen = dict(state.page_parameters)
    identified = chosen.get("identified", "")
    return await view.get(
        "/users",
        **state.range_and_segment_parameters(),
        **exact_filter_parameters(state, _FILTER_DIMENSIONS)[0],
        search=chosen.get("search", "").strip(),
        identified=identified if identified in IDENTIFIED_LABELS else "",
        sort=_chosen_sort(chosen),
        limit=str(PAGE_SIZE),
        offset=str(min(read_offset(), MAX_PAGE_END - PAGE_SIZE)),
    )


def _list_values(people: ApiResult, state: ViewState, zone: ZoneInfo) -> dict[str, Any]:
    rows, offset = people.data.get("users", []), people.data.get("offset", 0)
    following = offset + len(rows)
    has_more = people.data.get("has_more", False)
    return {
        "read": people,
        "lines": [_build_person_line(row, zone) for row in rows],
        "first": offset + 1,
        "last": following,
        "previous_page": state.link(offset=str(offset - PAGE_SIZE) if offset > PAGE_SIZE else None)
        if offset
        else None,
        "next_page": state.link(offset=str(following))
        if has_more and following + PAGE_SIZE <= MAX_PAGE_END
        else None,
        "is_cut": has_more and following + PAGE_SIZE > MAX_PAGE_END,
        "max_listed": MAX_PAGE_END,
    }


def _build_person_line(row: Mapping[str, Any], zone: ZoneInfo) -> PersonLine:
    count, money = ValueFormat(), ValueFormat("currency", row["currency"])
    device = [humanize(value) for value in (row["device_type"], row["browser"]) if value]
    return PersonLine(
        name=person_name(row),
        path=person_path(row),
        detail=" · ".join(device),
        last_seen=format_day(row["last_seen"], zone),
        first_seen=format_day(row["first_seen"], zone),
        sessions=count.format_in_full_or_dash(row["sessions"]),
        events=count.format_in_full_or_dash(row["events"]),
        conversions=count.format_in_full_or_dash(row["conversions"]),
        revenue=money.format_in_full_or_dash(row["revenue"]),
        source=label_dimension_value("attribution_source", row["attribution_source"]),
        country=row["country"],
        country_name=label_dimension_value("country", row["country"]),
    )


PAGES: Final = (Page("GET /w/<public_id>/people", show_people),)
