"""Funnels: how many people get from one event to the next, where they stop, and which of them get further."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.breakdown_choice import (
    EVENT_BREAKDOWNS,
    chosen_breakdown,
    label_breakdowns,
    label_group,
)
from hosts.web.cards.card import Card
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.reports import build_funnel_card
from hosts.web.charts.number_format import ValueFormat
from hosts.web.number_links import link_funnel_steps
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, exact_filter_parameters, skipped_filter_labels
from hosts.web.value_labels import label_event_name
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_STEPS: Final = 5
MIN_STEPS: Final = 2
ORDER_LABELS: Final[Mapping[str, str]] = {
    "ordered": "In this order, other events may lie between",
    "strict": "In this order, nothing between",
    "any": "In any order",
}
UNIT_LABELS: Final[Mapping[str, str]] = {"person": "People", "session": "Sessions"}
DIMENSIONS: Final = ("channel", "utm_source", "utm_campaign", "country", "device_type")
"""Dimensions a funnel can be filtered by."""

_STEP_FIELDS: Final = tuple(f"step{number}" for number in range(1, MAX_STEPS + 1))
_OPTION_FIELDS: Final = ("window_days", "order", "unit", "exclude")
FUNNEL_PARAMETERS: Final = (*_STEP_FIELDS, *_OPTION_FIELDS, "by")
_SUGGESTED: Final = (("page_view", "purchase"), ("page_view", "signup"), ("product_viewed", "purchase"))


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step in the table."""

    name: str
    label: str
    count: str
    rate: str
    step_rate: str
    dropped: str
    median_time: str
    mean_time: str


@dataclass(frozen=True, slots=True)
class GroupLine:
    """The funnel of one value of a dimension: a count per step, and the share that reached the last one.

    ``link`` shows the funnel of the value alone; empty where the page has no filter for it. Each count has the address
    of its people; empty where there is no such filter.
    """

    label: str
    link: str
    counts: tuple[tuple[str, str], ...]
    rate: str


async def show_funnels(context: PageContext, public_id: str) -> Response:
    """The builder, and what its funnel shows."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, FUNNEL_PARAMETERS)
    chosen = dict(state.page_parameters)
    steps = chosen_steps(state)
    names, funnel = await gather_or_cancel(view.get("/event-names"), _read_funnel(view, state, steps))
    shown = {} if funnel is None else _describe_funnel(view, state, steps, funnel)
    return await view.render(
        "funnels.html",
        state=state,
        chosen=chosen,
        steps=steps,
        step_fields=_STEP_FIELDS,
        orders=ORDER_LABELS,
        units=UNIT_LABELS,
        dimensions=label_breakdowns(context, EVENT_BREAKDOWNS, state),
        bar=build_page_range_bar(context, view.workspace, "/funnels", state, DIMENSIONS),
        skipped=skipped_filter_labels(context, exact_filter_parameters(state, DIMENSIONS)[1]),
        names=names,
        suggestions=_suggest_funnels(names, state),
        **shown,
    )


def _suggest_funnels(names: ApiResult, state: ViewState) -> list[tuple[str, str]]:
    """Words and query string of funnels of events that occur; the two most frequent ones if no usual pair does."""
    known = names.data.get("event_names", [])
    pairs = [pair for pair in _SUGGESTED if set(pair) <= set(known)] or [tuple(known[:2])]
    return [
        (f"{label_event_name(first)} → {label_event_name(last)}", state.link(step1=first, step2=last))
        for first, last in (pair for pair in pairs if len(pair) == MIN_STEPS)
    ]


async def _read_funnel(view: WorkspaceView, state: ViewState, steps: Sequence[str]) -> ApiResult | None:
    """The answer for the chosen steps; None while there are fewer than two."""
    if len(steps) < MIN_STEPS:
        return None
    by = chosen_breakdown(state)
    return await view.get("/funnel", **funnel_request_parameters(state, steps), breakdown=by)


def chosen_steps(state: ViewState) -> list[str]:
    """The events of the funnel that the address names."""
    chosen = dict(state.page_parameters)
    return [name.strip() for field in _STEP_FIELDS if (name := chosen.get(field, "")).strip()]


def funnel_request_parameters(state: ViewState, steps: Sequence[str]) -> dict[str, str]:
    """The parameters of `GET /funnel` and of the people behind its numbers."""
    chosen = dict(state.page_parameters)
    return {
        **state.range_and_segment_parameters(),
        **exact_filter_parameters(state, DIMENSIONS)[0],
        "steps": json.dumps(steps),
        **{name: chosen.get(name, "") for name in _OPTION_FIELDS},
    }


def _describe_funnel(
    view: WorkspaceView, state: ViewState, steps: Sequence[str], funnel: ApiResult
) -> dict[str, Any]:
    if funnel.problem is not None:
        return {"read": funnel}
    pages = f"{view.context.base}{view.path}"
    may_save = Scope.WRITE_REPORTS in view.caller.credential.scopes
    return {
        "read": funnel,
        "card": link_funnel_steps(
            _build_card(view.context, view.workspace, steps, funnel.data),
            lambda step, outcome: _link_people(pages, state, step, outcome),
        ),
        "lines": [_build_step_line(step) for step in funnel.data["steps"]],
        "unit_words": UNIT_LABELS[funnel.data["unit"]].lower(),
        "groups": _describe_groups(pages, state, funnel.data),
        "definition": json.dumps(_report_definition(state, funnel.data)),
        "is_filtered": bool(state.is_filtered or dict(state.page_parameters).get("exclude")),
        "report_name": " → ".join(label_event_name(name) for name in steps)[:120],
        "once": new_token(),
        "may_save": may_save and "POST /w/<public_id>/reports" in view.context.routes,
    }


def _build_card(
    context: PageContext, workspace: Workspace, steps: Sequence[str], answer: Mapping[str, Any]
) -> Card:
    setting = build_display_context(context.component(Catalog), workspace)
    title = " → ".join(label_event_name(name) for name in steps)
    return replace(build_funnel_card(title, answer, setting), table=None, size="lg")


def _build_step_line(step: Mapping[str, Any]) -> StepLine:
    count, rate, time = ValueFormat(), ValueFormat("ratio"), ValueFormat("seconds")
    return StepLine(
        name=step["event_name"],
        label=label_event_name(step["event_name"]),
        count=count.format_in_full_or_dash(step["count"]),
        rate=rate.format_in_full_or_dash(step["conversion_rate"]),
        step_rate=rate.format_in_full_or_dash(step["step_conversion_rate"]),
        dropped=count.format_in_full_or_dash(step["dropped"]),
        median_time=time.format_in_full_or_dash(step["median_seconds_from_previous"]),
        mean_time=time.format_in_full_or_dash(step["mean_seconds_from_previous"]),
    )


def _describe_groups(pages: str, state: ViewState, answer: Mapping[str, Any]) -> list[GroupLine] | None:
    """The funnel of each of the largest values of the chosen dimension; None if none is chosen."""
    dimension = answer["breakdown"]
    if dimension is None:
        return None
    return [_build_group_line_with_overall_rate(pages, dimension, group, state) for group in answer["groups"]]


def _build_group_line_with_overall_rate(
    pages: str, dimension: str, group: Mapping[str, Any], state: ViewState
) -> GroupLine:
    count, rate = ValueFormat(), ValueFormat("ratio")
    is_filter = dimension in DIMENSIONS and not group["is_other"]
    alone = state.with_filter(dimension, group["value"]) if is_filter else None
    return GroupLine(
        label=label_group(dimension, group),
        link=alone.query_string if alone else "",
        counts=tuple(
            (
                count.format_in_full_or_dash(step["count"]),
                _link_people(pages, alone, number, "reached") if alone else "",
            )
            for number, step in enumerate(group["steps"], start=1)
        ),
        rate=rate.format_in_full_or_dash(group["overall_conversion_rate"]),
    )


def _link_people(pages: str, state: ViewState, step: int, outcome: str) -> str:
    """The address of the people of a step."""
    return f"{pages}/funnels/people{state.link(at=str(step), outcome=outcome)}"


def _report_definition(state: ViewState, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The report that shows this funnel; reports keep neither filters nor an excluded event."""
    dates = state.query_body_parts(with_comparison=False)["date_range"]
    return {
        "source": "query",
        "steps": [step["event_name"] for step in answer["steps"]],
        "window_days": answer["window_days"],
        "order": answer["order"],
        "unit": answer["unit"],
        "default_range": dates,
    }


PAGES: Final = (Page("GET /w/<public_id>/funnels", show_funnels),)
