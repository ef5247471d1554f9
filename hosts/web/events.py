"""Events of a workspace as they were stored: filters by name, ids and properties, pages, and new ones as they come."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.forms import parse_number_or_text
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, exact_filter_parameters, skipped_filter_labels
from hosts.web.value_labels import label_event_name
from hosts.web.value_words import format_moment, person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.async_gather import gather_or_cancel

PAGE_SIZE: Final = 50
MAX_OFFSET: Final = 1_000_000_000
PROPERTY_OPERATORS: Final[Mapping[str, str]] = {
    "eq": "is",
    "neq": "is not",
    "contains": "contains",
    "gt": "is greater than",
    "lt": "is less than",
    "is_set": "is set",
    "is_not_set": "is not set",
}
"""Operator of a property filter -> what the form calls it."""

PROPERTY_ROWS: Final = ("1", "2", "3")
"""Numbers of the property filters in an address: ``key1``, ``op1`` and ``value1`` are the first."""

_ID_FIELDS: Final = ("visitor_id", "user_id", "session_id")
EVENT_FILTER_DIMENSIONS: Final = (
    "attribution_source", "channel", "utm_source", "utm_medium", "utm_campaign", "lyr", "country", "device_type",
)  # fmt: skip
_PARAMETERS: Final = (
    "event_name",
    *_ID_FIELDS,
    *(f"{field}{number}" for number in PROPERTY_ROWS for field in ("key", "op", "value")),
    "view",
)
_WITHOUT_VALUE: Final = ("is_set", "is_not_set")


@dataclass(frozen=True, slots=True)
class PropertyFilter:
    """A condition on a custom property, as the form holds it."""

    key: str
    operator: str
    value: str

    @property
    def body(self) -> dict[str, Any]:
        """The filter as the API takes it; a text that is a number is compared as one by size."""
        if self.operator in _WITHOUT_VALUE:
            return {"key": self.key, "op": self.operator}
        value: str | float | None = self.value
        if self.operator in {"gt", "lt"}:
            value = parse_number_or_text(self.value)
        return {"key": self.key, "op": self.operator, "value": value}


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event in the list."""

    id: str
    name: str
    label: str
    timestamp: str
    moment: str
    person: str
    person_path: str
    page: str | None
    source: str | None
    revenue: str | None
    json_text: str


async def show_events(context: PageContext, public_id: str) -> Response:
    """A page of events, or the properties they carry."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    shared = {
        "state": state,
        "bar": build_page_range_bar(context, view.workspace, "/events", state, EVENT_FILTER_DIMENSIONS),
        "skipped": skipped_filter_labels(context, _accepted_filters(state)[1]),
        **_form_values(state),
    }
    if request.args.get("view") == "properties":
        names, properties = await gather_or_cancel(view.get("/event-names"), _read_properties(view, state))
        return await view.render("event_properties.html", names=names, read=properties, **shared)
    names, events = await gather_or_cancel(view.get("/event-names"), _read_events(view, state))
    return await view.render(
        "events.html", names=names, **shared, **_list_values(events, state, view.workspace.zone)
    )


async def show_newest_events(context: PageContext, public_id: str) -> Response:
    """The first rows alone, for the module that follows new events."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    events = await _read_events(view, state)
    return await view.render(
        "event_rows.html",
        events.status,
        state=state,
        **_list_values(events, state, view.workspace.zone),
    )


def _form_values(state: ViewState) -> dict[str, Any]:
    chosen = dict(state.page_parameters)
    return {
        "chosen": chosen,
        "operators": PROPERTY_OPERATORS,
        "property_rows": PROPERTY_ROWS,
        "is_narrowed": bool(chosen.keys() - {"view"} or state.is_filtered),
    }


def read_property_filters(chosen: Mapping[str, str]) -> list[PropertyFilter]:
    """The property filters of an address; those without a key, or without a value they need, are none."""
    rows = (
        PropertyFilter(
            chosen.get(f"key{number}", "").strip(),
            chosen.get(f"op{number}", "eq"),
            chosen.get(f"value{number}", ""),
        )
        for number in PROPERTY_ROWS
    )
    return [
        row
        for row in rows
        if row.key and row.operator in PROPERTY_OPERATORS and (row.value or row.operator in _WITHOUT_VALUE)
    ]


async def _read_events(view: WorkspaceView, state: ViewState) -> ApiResult:
    chosen = dict(state.page_parameters)
    conditions = [row.body for row in read_property_filters(chosen)]
    return await view.get(
        "/events",
        **state.range_and_segment_parameters(),
        **_accepted_filters(state)[0],
        **{name: chosen.get(name, "") for name in ("event_name", *_ID_FIELDS)},
        property_filters=json.dumps(conditions) if conditions else "",
        limit=str(PAGE_SIZE),
        offset=str(read_offset()),
    )


async def _read_properties(view: WorkspaceView, state: ViewState) -> ApiResult:
    name = dict(state.page_parameters).get("event_name", "")
    return await view.get(
        "/events/properties", **state.range_and_segment_parameters(), event_name=name, limit="50"
    )


def _accepted_filters(state: ViewState) -> tuple[dict[str, str], list[str]]:
    return exact_filter_parameters(state, EVENT_FILTER_DIMENSIONS)


def read_offset() -> int:
    """The number of rows before those the page shows; 0 unless the address says a whole number."""
    text = request.args.get("offset", "")
    return min(int(text), MAX_OFFSET) if text.isascii() and text.isdecimal() and len(text) < 11 else 0  # noqa: PLR2004


def _list_values(events: ApiResult, state: ViewState, zone: ZoneInfo) -> dict[str, Any]:
    offset = read_offset()
    rows = events.data.get("events", [])
    return {
        "read": events,
        "lines": [build_event_line(row, zone) for row in rows],
        "first": offset + 1,
        "last": offset + len(rows),
        "newer": state.link(offset=str(offset - PAGE_SIZE) if offset > PAGE_SIZE else None)
        if offset
        else None,
        "older": state.link(offset=str(offset + len(rows))) if events.data.get("has_more") else None,
        "is_first_page": offset == 0,
    }


def build_event_line(row: Mapping[str, Any], zone: ZoneInfo) -> EventLine:
    """The line of an event of an answer, with times by the wall clock of the workspace."""
    money = ValueFormat("currency", row["currency"] or "USD")
    known = {column: value for column, value in row.items() if value not in (None, [], {})}
    return EventLine(
        id=row["event_id"],
        name=row["event_name"],
        label=label_event_name(row["event_name"]),
        timestamp=row["timestamp"],
        moment=format_moment(row["timestamp"], zone),
        person=person_name(row),
        person_path=person_path(row),
        page=row["page_path"],
        source=row["attribution_source"],
        revenue=None if row["revenue"] is None else money.format_in_full_or_dash(row["revenue"]),
        json_text=json.dumps(known, indent=2, ensure_ascii=False),
    )


PAGES: Final = (
    Page("GET /w/<public_id>/events", show_events),
    Page("GET /w/<public_id>/events/rows", show_newest_events),
)
