"""Journeys behind a cell of attribution: conversions with the touches that led to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.attribution import (
    ATTRIBUTION_PARAMETERS,
    GROUP_LABELS,
    KEY_FIELDS,
    METRIC_LABELS,
    MODEL_FIELD_PREFIX,
)
from hosts.web.charts.number_format import ValueFormat
from hosts.web.events import read_offset
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value, label_event_name
from hosts.web.value_words import format_moment, person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import open_workspace_view
from service_core.analytics.attribution.models import AttributionModels

PAGE_SIZE: Final = 50
_ROW_FIELDS: Final = tuple(dict.fromkeys(field for fields in KEY_FIELDS.values() for field in fields))
_SELECTION: Final = ("model", "unattributed", *_ROW_FIELDS)


@dataclass(frozen=True, slots=True)
class TouchLine:
    """A touch of a journey; texts are in words."""

    moment: str
    label: str
    credit: str
    is_credited: bool


@dataclass(frozen=True, slots=True)
class JourneyLine:
    """A conversion with its touches; texts are in words."""

    event: str
    moment: str
    name: str
    path: str
    credit: str
    touches: tuple[TouchLine, ...]


async def show_journeys(context: PageContext, public_id: str) -> Response:
    """The conversions of one cell; their credit adds up to it."""
    view = await open_workspace_view(context, public_id)
    installed = context.component(AttributionModels).by_id
    fields = tuple(f"{MODEL_FIELD_PREFIX}{id_}" for id_ in installed)
    parameters = (*ATTRIBUTION_PARAMETERS, *fields, *_SELECTION)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, parameters)
    chosen = dict(state.page_parameters)
    metric = chosen.get("metric", "revenue")
    metric = metric if metric in METRIC_LABELS else "revenue"
    result = await view.get(
        "/attribution/journeys",
        **state.range_and_segment_parameters(),
        **{name: chosen.get(name, "") for name in (*_SELECTION, "window_days", "event_name")},
        group_by=_chosen_group(chosen),
        limit=str(PAGE_SIZE),
        offset=str(read_offset()),
    )
    model = installed.get(chosen.get("model", ""))
    return await view.render(
        "journeys.html",
        result=result,
        title=_describe_row(chosen),
        model=model.label if model else "",
        metric=METRIC_LABELS[metric],
        back_link=state.link(**dict.fromkeys(_SELECTION)),
        **_list_values(result, state, metric, view.workspace.zone),
    )


def _chosen_group(chosen: Mapping[str, str]) -> str:
    group_by = chosen.get("group_by", "channel")
    return group_by if group_by in GROUP_LABELS else "channel"


def _describe_row(chosen: Mapping[str, str]) -> str:
    """The row of the cell in words."""
    if chosen.get("unattributed"):
        return "Unattributed conversions"
    fields = KEY_FIELDS[_chosen_group(chosen)]
    labels = [label_dimension_value(field, chosen[field]) for field in fields if field in chosen]
    return f"Journeys: {' / '.join(labels)}" if labels else "Journeys"


def _list_values(result: ApiResult, state: ViewState, metric: str, zone: ZoneInfo) -> dict[str, Any]:
    if not result.ok:
        return {"lines": []}
    answer = result.body
    unit = ValueFormat("number" if metric == "conversions" else "currency", answer["currency"])
    following = answer["offset"] + len(answer["journeys"])
    previous = max(0, answer["offset"] - PAGE_SIZE)
    return {
        "lines": [_build_journey_line(journey, metric, unit, zone) for journey in answer["journeys"]],
        "total": unit.format_in_full_or_dash(answer["totals"][metric]),
        "count": answer["total_count"],
        "previous_page": state.link(offset=str(previous) if previous else None) if answer["offset"] else None,
        "next_page": state.link(offset=str(following)) if answer["has_more"] else None,
    }


def _build_journey_line(
    journey: Mapping[str, Any], metric: str, unit: ValueFormat, zone: ZoneInfo
) -> JourneyLine:
    return JourneyLine(
        event=label_event_name(journey["event_name"]),
        moment=format_moment(journey["timestamp"], zone),
        name=person_name(journey),
        path=person_path(journey),
        credit=unit.format_in_full_or_dash(journey[metric]),
        touches=tuple(_build_touch_line(touch, metric, unit, zone) for touch in journey["touches"]),
    )


def _build_touch_line(touch: Mapping[str, Any], metric: str, unit: ValueFormat, zone: ZoneInfo) -> TouchLine:
    fields = {"channel": "channel", "source": "attribution_source", "campaign": "utm_campaign"}
    named = [label_dimension_value(fields[name], touch[name]) for name in fields if touch[name]]
    return TouchLine(
        moment=format_moment(touch["timestamp"], zone),
        label=" · ".join(dict.fromkeys(named)),
        credit=unit.format_in_full_or_dash(touch[metric]),
        is_credited=bool(touch["conversions"]),
    )


PAGES: Final = (Page("GET /w/<public_id>/attribution/journeys", show_journeys),)
