"""Sessions behind a number of the paths page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.events import read_offset
from hosts.web.page_context import Page, PageContext
from hosts.web.paths import (
    PATH_PARAMETERS,
    SELECTION_PARAMETERS,
    chosen_kind,
    label_path_value,
    path_request_parameters,
)
from hosts.web.value_words import format_moment, person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import open_workspace_view

PAGE_SIZE: Final = 50
_PARAMETERS: Final = (*PATH_PARAMETERS, *SELECTION_PARAMETERS)


@dataclass(frozen=True, slots=True)
class PathSessionLine:
    """A session in the list; texts are in words."""

    name: str
    path: str
    started: str


async def show_path_sessions(context: PageContext, public_id: str) -> Response:
    """The sessions of one number, as many as the paths count."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    result = await view.get(
        "/paths/sessions",
        **path_request_parameters(state),
        **{name: chosen.get(name, "") for name in SELECTION_PARAMETERS},
        limit=str(PAGE_SIZE),
        offset=str(read_offset()),
    )
    return await view.render(
        "path_sessions.html",
        state=state,
        result=result,
        title=_describe_selection(state),
        back_link=state.link(step=None, value=None, group=None),
        **_list_values(result, state, view.workspace.zone),
    )


def _describe_selection(state: ViewState) -> str:
    """The number that was opened, in words."""
    chosen, by = dict(state.page_parameters), chosen_kind(state)
    start = label_path_value(by, chosen.get("start", ""))
    order = "before" if chosen.get("direction") == "previous" else "after"
    if value := chosen.get("value"):
        return f"{label_path_value(by, value)} {order} {start}"
    if chosen.get("group") == "ended":
        return f"Nothing further {order} {start}"
    if chosen.get("group") == "other":
        return f"Everything else {order} {start}"
    return f"Sessions with {start}"


def _list_values(result: ApiResult, state: ViewState, zone: ZoneInfo) -> dict[str, Any]:
    if not result.ok:
        return {"lines": []}
    answer = result.body
    following = answer["offset"] + len(answer["sessions"])
    previous = max(0, answer["offset"] - PAGE_SIZE)
    return {
        "lines": [_build_line(session, zone) for session in answer["sessions"]],
        "total": ValueFormat().format_in_full_or_dash(answer["total_count"]),
        "previous_page": state.link(offset=str(previous) if previous else None) if answer["offset"] else None,
        "next_page": state.link(offset=str(following)) if answer["has_more"] else None,
    }


def _build_line(session: Mapping[str, Any], zone: ZoneInfo) -> PathSessionLine:
    return PathSessionLine(
        name=person_name(session),
        path=person_path(session),
        started=format_moment(session["started_at"], zone),
    )


PAGES: Final = (Page("GET /w/<public_id>/paths/sessions", show_path_sessions),)
