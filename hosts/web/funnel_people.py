"""People behind a number of a funnel: who reached a step, and who dropped off before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.events import read_offset
from hosts.web.funnels import FUNNEL_PARAMETERS, UNIT_LABELS, chosen_steps, funnel_request_parameters
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_event_name
from hosts.web.value_words import format_day, person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import open_workspace_view

PAGE_SIZE: Final = 50
_OUTCOMES: Final = ("reached", "dropped")
_PARAMETERS: Final = (*FUNNEL_PARAMETERS, "at", "outcome")


@dataclass(frozen=True, slots=True)
class FunnelPersonLine:
    """A person, or a session of a person, in the list; texts are in words."""

    name: str
    path: str
    steps_reached: str
    started: str
    last_step: str


async def show_funnel_people(context: PageContext, public_id: str) -> Response:
    """The people of one step, as many as the funnel counts."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    steps, outcome = chosen_steps(state), chosen.get("outcome", "reached")
    outcome = outcome if outcome in _OUTCOMES else "reached"
    at = chosen.get("at", "1")
    result = await view.get(
        "/funnel/persons",
        **funnel_request_parameters(state, steps),
        step=at,
        outcome=outcome,
        limit=str(PAGE_SIZE),
        offset=str(read_offset()),
    )
    return await view.render(
        "funnel_people.html",
        state=state,
        result=result,
        title=_describe_step(steps, at, outcome),
        back_link=state.link(at=None, outcome=None),
        **_list_values(result, state, view.workspace.zone),
    )


def _describe_step(steps: list[str], at: str, outcome: str) -> str:
    number = int(at) if at in {str(each) for each in range(1, len(steps) + 1)} else 1
    name = label_event_name(steps[number - 1]) if steps else ""
    return (
        f"Dropped off before step {number}: {name}"
        if outcome == "dropped"
        else f"Reached step {number}: {name}"
    )


def _list_values(result: ApiResult, state: ViewState, zone: ZoneInfo) -> dict[str, Any]:
    if not result.ok:
        return {"lines": []}
    answer = result.body
    following = answer["offset"] + len(answer["persons"])
    previous = max(0, answer["offset"] - PAGE_SIZE)
    return {
        "lines": [_build_line(person, zone) for person in answer["persons"]],
        "total": ValueFormat().format_in_full_or_dash(answer["total_count"]),
        "unit_words": UNIT_LABELS[answer["unit"]].lower(),
        "previous_page": state.link(offset=str(previous) if previous else None) if answer["offset"] else None,
        "next_page": state.link(offset=str(following)) if answer["has_more"] else None,
    }


def _build_line(person: Mapping[str, Any], zone: ZoneInfo) -> FunnelPersonLine:
    return FunnelPersonLine(
        name=person_name(person),
        path=person_path(person),
        steps_reached=str(person["steps_reached"]),
        started=format_day(person["started_at"], zone),
        last_step=format_day(person["last_step_at"], zone),
    )


PAGES: Final = (Page("GET /w/<public_id>/funnels/people", show_funnel_people),)
