"""Paths: what sessions do before or after a chosen page or event, step by step."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.value_labels import label_event_name
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.async_gather import gather_or_cancel

KIND_LABELS: Final[Mapping[str, str]] = {"page": "Pages", "event": "Events"}
DIRECTION_LABELS: Final[Mapping[str, str]] = {"next": "After it", "previous": "Before it"}
STEP_COUNT_LABELS: Final[Mapping[str, str]] = {str(number): str(number) for number in range(1, 6)}
PATH_PARAMETERS: Final = ("start", "by", "direction", "steps", "through")
SELECTION_PARAMETERS: Final = ("step", "value", "group")
"""Parameters that choose one number of the paths."""

_DEFAULT_STEPS: Final = "3"
_SUGGESTED: Final = 5


@dataclass(frozen=True, slots=True)
class PathLine:
    """A value of a step, or the sessions with another value or without such a step.

    Attributes:
        label: in words.
        sessions: how many have it, in words.
        share: of all sessions with the start.
        width: of the bar, 0 to 100.
        sessions_link: query string of the list of these sessions.
        narrow_link: query string of the paths through this value; None where it cannot be chosen.
        is_value: false for the rest and for sessions that end.
    """

    label: str
    sessions: str
    share: str
    width: str
    sessions_link: str
    narrow_link: str | None = None
    is_value: bool = True


@dataclass(frozen=True, slots=True)
class PathStepCard:
    """A step with its lines."""

    title: str
    lines: tuple[PathLine, ...]


async def show_paths(context: PageContext, public_id: str) -> Response:
    """The form, and the steps before or after what it names."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, PATH_PARAMETERS)
    chosen = dict(state.page_parameters)
    by = chosen_kind(state)
    start = chosen.get("start", "").strip()
    known, paths = await gather_or_cancel(_read_known_values(view, state, by), _read_paths(view, state))
    values = [row["value"] for row in known.data.get("values", ()) if row["value"]]
    answered = paths is not None and paths.ok
    return await view.render(
        "paths.html",
        state=state,
        chosen=chosen,
        by=by,
        kinds=KIND_LABELS,
        directions=DIRECTION_LABELS,
        step_counts=STEP_COUNT_LABELS,
        start_label=label_path_value(by, start),
        known=values,
        known_problem=known.problem,
        suggestions=[(label_path_value(by, value), state.link(start=value)) for value in values[:_SUGGESTED]],
        bar=build_page_range_bar(context, view.workspace, "/paths", state, ()),
        skipped=skipped_filter_labels(context, (condition.dimension for condition in state.filters)),
        read=paths,
        total=ValueFormat().format_in_full_or_dash(paths.body["sessions"]) if paths and answered else None,
        all_link=state.link(step=None, value=None, group=None),
        cards=_build_step_cards(state, paths.body) if paths and answered else [],
        through=_build_through_chips(state, by),
    )


def chosen_kind(state: ViewState) -> str:
    """What the steps are: ``page`` or ``event``."""
    by = dict(state.page_parameters).get("by", "")
    return by if by in KIND_LABELS else "page"


def label_path_value(by: str, value: str) -> str:
    """A page as its path, an event in words."""
    return label_event_name(value) if by == "event" else value


def path_request_parameters(state: ViewState) -> dict[str, str]:
    """The parameters of `GET /paths` and of the sessions behind its numbers."""
    chosen = dict(state.page_parameters)
    direction = chosen.get("direction", "")
    return {
        **state.range_and_segment_parameters(),
        "start": chosen.get("start", "").strip(),
        "by": chosen_kind(state),
        "direction": direction if direction in DIRECTION_LABELS else "next",
        "steps": chosen.get("steps", "") or _DEFAULT_STEPS,
        "through": json.dumps(chosen_through(state)) if chosen.get("through") else "",
    }


def chosen_through(state: ViewState) -> list[str]:
    """The values of the first steps that the address names; those it says wrongly count as not said."""
    try:
        values = json.loads(dict(state.page_parameters).get("through", "") or "[]")
    except (ValueError, RecursionError):
        return []
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


async def _read_paths(view: WorkspaceView, state: ViewState) -> ApiResult | None:
    """The answer for the chosen start; None without one."""
    parameters = path_request_parameters(state)
    return await view.get("/paths", **parameters) if parameters["start"] else None


async def _read_known_values(view: WorkspaceView, state: ViewState, by: str) -> ApiResult:
    """The pages or events with the most visitors."""
    return await view.get(
        "/dimension-values",
        dimension="page_path" if by == "page" else "event_name",
        limit="50",
        **state.range_and_segment_parameters(),
    )


def _build_through_chips(state: ViewState, by: str) -> list[tuple[str, str]]:
    """Words of each value the paths go through, and the query string of the page without it and later ones."""
    values = chosen_through(state)
    return [
        (label_path_value(by, value), state.link(through=_encode_through(values[:position])))
        for position, value in enumerate(values)
    ]


def _encode_through(values: Sequence[str]) -> str | None:
    return json.dumps(values, ensure_ascii=False) if values else None


def _build_step_cards(state: ViewState, answer: Mapping[str, Any]) -> list[PathStepCard]:
    word = "before" if answer["direction"] == "previous" else "after"
    return [
        PathStepCard(
            f"{step['step']} step{'' if step['step'] == 1 else 's'} {word}",
            _build_lines(state, answer, step),
        )
        for step in answer["steps"]
    ]


def _build_lines(
    state: ViewState, answer: Mapping[str, Any], step: Mapping[str, Any]
) -> tuple[PathLine, ...]:
    number, total, by = str(step["step"]), answer["sessions"], answer["by"]
    through: list[str] = answer["through"]
    can_narrow = step["step"] == len(through) + 1
    lines = [
        _build_line(
            label_path_value(by, node["value"]),
            node["sessions"],
            total,
            state.link(step=number, value=node["value"]),
            state.link(through=_encode_through([*through, node["value"]])) if can_narrow else None,
        )
        for node in step["values"]
    ]
    if step["other_sessions"]:
        label = f"{step['other_values']:,} others"
        rest = state.link(step=number, group="other")
        lines.append(_build_line(label, step["other_sessions"], total, rest, is_value=False))
    if step["ended_sessions"]:
        label = "Session began" if answer["direction"] == "previous" else "Session ended"
        ended = state.link(step=number, group="ended")
        lines.append(_build_line(label, step["ended_sessions"], total, ended, is_value=False))
    return tuple(lines)


def _build_line(
    label: str,
    sessions: int,
    total: int,
    sessions_link: str,
    narrow_link: str | None = None,
    *,
    is_value: bool = True,
) -> PathLine:
    share = sessions / total if total else 0
    return PathLine(
        label=label,
        sessions=ValueFormat().format_in_full_or_dash(sessions),
        share=ValueFormat("ratio").format_in_full_or_dash(share),
        width=f"{share * 100:.1f}",
        sessions_link=sessions_link,
        narrow_link=narrow_link,
        is_value=is_value,
    )


PAGES: Final = (Page("GET /w/<public_id>/paths", show_paths),)
