"""Attribution models side by side: what each gives to a channel or campaign, against the last touch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from quart import Response, request

from hosts.web.api_client import NOTHING_READ, ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.concurrent_reads import gather_two_at_a_time
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.attribution.models import (
    AttributionModels,
    AttributionSettings,
)
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel

BASE_MODEL: Final = "last_touch"
"""The model the others are compared with."""

_FIRST_SHOWN: Final = ("first_touch", "linear")
"""Models that are shown before somebody chooses, beside the last touch and the default of the workspace."""

MAX_ROWS: Final = 50
GROUP_LABELS: Final[Mapping[str, str]] = {
    "channel": "Channels",
    "campaign": "Campaigns",
    "source": "Sources",
    "medium": "Mediums",
    "lyr": "Tracking links",
}
METRIC_LABELS: Final[Mapping[str, str]] = {
    "revenue": "Revenue",
    "net_revenue": "Net revenue",
    "conversions": "Conversions",
}
KEY_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "channel": ("channel",),
    "campaign": ("utm_source", "utm_medium", "utm_campaign"),
    "source": ("attribution_source",),
    "medium": ("attribution_medium",),
    "lyr": ("lyr",),
}
_EVENT_FILTERS: Final = (
    "channel", "utm_source", "utm_medium", "utm_campaign", "attribution_source", "lyr",
)  # fmt: skip
MODEL_FIELD_PREFIX: Final = "m_"
ATTRIBUTION_PARAMETERS: Final = ("group_by", "metric", "window_days", "event_name")

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelColumn:
    """A model and its answer.

    Attributes:
        id: of the model.
        label: its name.
        values: key of a group -> value; None where it is unknown.
        unattributed: value without a touch.
        total: of all.
        message: why the model has no answer; empty if it has one.
        lists_journeys: the conversions behind a value can be listed: not those of data-driven models.
    """

    id: str
    label: str
    values: Mapping[Key, float | None]
    unattributed: float | None = None
    total: float | None = None
    message: str = ""
    lists_journeys: bool = False


@dataclass(frozen=True, slots=True)
class CreditCell:
    """A value in words, and its difference to that of the last touch.

    Attributes:
        journeys: query string of the conversions behind it; empty where they cannot be listed.
    """

    text: str
    difference: str = ""
    direction: str = ""
    journeys: str = ""


@dataclass(frozen=True, slots=True)
class CreditLine:
    """A row of the table: a cell per model."""

    label: str
    events_query: str
    cells: tuple[CreditCell, ...]


async def show_attribution(context: PageContext, public_id: str) -> Response:
    """The table of groups by models."""
    view = await open_workspace_view(context, public_id)
    installed = context.component(AttributionModels).by_id
    fields = tuple(f"{MODEL_FIELD_PREFIX}{id_}" for id_ in installed)
    state = read_view_state(
        request.args, view.workspace.zone, view.caller.now, (*ATTRIBUTION_PARAMETERS, *fields)
    )
    chosen = dict(state.page_parameters)
    default = AttributionSettings.workspace_default(view.workspace)
    models = choose_models(list(installed), chosen, default.model)
    group_by = chosen.get("group_by", "channel")
    group_by = group_by if group_by in GROUP_LABELS else "channel"
    metric = chosen.get("metric", "revenue")
    metric = metric if metric in METRIC_LABELS else "revenue"
    reads = await _read_models_two_at_a_time(view, state, models, group_by)
    columns = [
        _build_column(installed[id_], read, group_by, metric) for id_, read in zip(models, reads, strict=True)
    ]
    answers = [read for read in reads if read.problem is None]
    return await view.render(
        "attribution.html",
        state=state,
        chosen={"window_days": str(default.window_days), **chosen, "group_by": group_by, "metric": metric},
        groups=GROUP_LABELS,
        metrics=METRIC_LABELS,
        model_choices=[(id_, model.label, id_ in models) for id_, model in installed.items()],
        default_model=default.model,
        base_model=BASE_MODEL if BASE_MODEL in models else None,
        model_fields=fields,
        every_model=state.link(**dict.fromkeys(fields, "1")) if len(models) < len(installed) else None,
        bar=build_page_range_bar(context, view.workspace, "/attribution", state, ()),
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        problem=reads[0].problem if reads and not answers else None,
        read=answers[0] if answers else NOTHING_READ,
        **_describe_columns(columns, answers, group_by, metric, state),
    )


def choose_models(installed: Sequence[str], chosen: Mapping[str, str], default_model: str) -> list[str]:
    """The models to show: those the address names, or a few, as each costs a second; and the last touch to compare.

    Args:
        installed: ids of all models.
        chosen: parameters of the address.
        default_model: of the workspace.
    """
    named = {id_ for id_ in installed if chosen.get(f"{MODEL_FIELD_PREFIX}{id_}")}
    named = named or {*_FIRST_SHOWN, default_model}
    return [id_ for id_ in installed if id_ in named or id_ == BASE_MODEL]


async def _read_models_two_at_a_time(
    view: WorkspaceView, state: ViewState, models: Sequence[str], group_by: str
) -> tuple[ApiResult, ...]:
    """The answers of the models in their order; more at once would keep other readers of the store waiting."""
    return await gather_two_at_a_time(
        partial(_read_attribution, view, state, model, group_by) for model in models
    )


async def _read_attribution(view: WorkspaceView, state: ViewState, model: str, group_by: str) -> ApiResult:
    """The answer of one model, one request; channels are part of any grouping's answer."""
    chosen = dict(state.page_parameters)
    return await view.get(
        "/attribution",
        **state.range_and_segment_parameters(),
        model=model,
        group_by=group_by,
        window_days=chosen.get("window_days", ""),
        event_name=chosen.get("event_name", ""),
        limit="500",
    )


def _build_column(model: AttributionModel, read: ApiResult, group_by: str, metric: str) -> ModelColumn:
    if read.problem is not None:
        return ModelColumn(model.id, model.label, {}, message=read.problem.text)
    rows = read.data["channels" if group_by == "channel" else "campaigns"]
    return ModelColumn(
        model.id,
        model.label,
        {tuple(row[field] for field in KEY_FIELDS[group_by]): row[metric] for row in rows},
        read.data["unattributed"][metric],
        read.data["totals"][metric],
        lists_journeys=not isinstance(model, DataDrivenModel),
    )


def _describe_columns(
    columns: Sequence[ModelColumn],
    answers: Sequence[ApiResult],
    group_by: str,
    metric: str,
    state: ViewState,
) -> dict[str, Any]:
    known = [column for column in columns if not column.message]
    base = next((column for column in known if column.id == BASE_MODEL), None)
    currency = answers[0].data["currency"] if answers else "USD"
    unit = ValueFormat("number" if metric == "conversions" else "currency", currency)
    is_cut = any(read.data["truncated"] for read in answers) and group_by != "channel"
    keys = _keys_with_largest_value_first(known, base)
    lines = [
        CreditLine(
            label=_label_key(group_by, key),
            events_query=_events_query(group_by, key, state),
            cells=_link_journeys(
                _build_cells(
                    known,
                    base,
                    # A group that a cut answer leaves out is unknown; one that a whole answer leaves out has nothing.
                    [column.values.get(key, None if is_cut else 0.0) for column in known],
                    base.values.get(key, None if is_cut else 0.0) if base else None,
                    unit,
                ),
                known,
                state,
                dict(zip(KEY_FIELDS[group_by], key, strict=True)),
            ),
        )
        for key in keys[:MAX_ROWS]
    ]
    return {
        "columns": known,
        "missing": [column for column in columns if column.message],
        "lines": lines,
        "hidden_rows": max(0, len(keys) - MAX_ROWS),
        "unattributed": _link_journeys(
            _build_cells(
                known,
                base,
                [column.unattributed for column in known],
                base.unattributed if base else None,
                unit,
            ),
            known,
            state,
            {"unattributed": "true"},
        ),
        "totals": _link_journeys(
            _build_cells(known, None, [column.total for column in known], None, unit), known, state, {}
        ),
        "has_credit": any(column.total is None or column.total for column in known),
        "has_unknown": any(column.total is None for column in known),
    }


def _keys_with_largest_value_first(columns: Sequence[ModelColumn], base: ModelColumn | None) -> list[Key]:
    """Every key that has credit, or may have, under some model, by the last touch and then by the largest value of any model."""
    keys = dict.fromkeys(key for column in columns for key, value in column.values.items() if value != 0)

    def rank(key: Key) -> tuple[float, float]:
        largest = max((column.values.get(key) or 0.0 for column in columns), default=0.0)
        return ((base.values.get(key) or 0.0) if base else 0.0, largest)

    return sorted(keys, key=rank, reverse=True)


def _build_cells(
    columns: Sequence[ModelColumn],
    base: ModelColumn | None,
    values: Sequence[float | None],
    base_value: float | None,
    unit: ValueFormat,
) -> tuple[CreditCell, ...]:
    return tuple(
        CreditCell(unit.format_in_full_or_dash(value))
        if base is None or column.id == base.id or value is None or base_value is None
        else CreditCell(unit.format_in_full_or_dash(value), *describe_difference(value, base_value))
        for column, value in zip(columns, values, strict=True)
    )


def _link_journeys(
    cells: Sequence[CreditCell], columns: Sequence[ModelColumn], state: ViewState, row: Mapping[str, str]
) -> tuple[CreditCell, ...]:
    """The cells of a row with links to the conversions behind them.

    Args:
        cells: one for each column.
        columns: of the models.
        state: of the page.
        row: the parameters of `GET /attribution/journeys` that name the row.
    """
    return tuple(
        replace(cell, journeys=state.link(model=column.id, **row)) if column.lists_journeys else cell
        for cell, column in zip(cells, columns, strict=True)
    )


def describe_difference(value: float, base: float) -> tuple[str, str]:
    """The relative difference in words, and ``up``, ``down`` or nothing; "new" where the last touch gives nothing."""
    if not base:
        return ("new", "up") if value > 0 else ("", "")
    share = (value - base) / abs(base)
    text = f"{share * 100:+,.0f} %"
    if text in {"+0 %", "-0 %"}:
        return "±0 %", ""
    return text, "up" if share > 0 else "down"


def _label_key(group_by: str, key: Key) -> str:
    fields = KEY_FIELDS[group_by]
    labels = [label_dimension_value(field, value) for field, value in zip(fields, key, strict=True)]
    return labels[0] if len(labels) == 1 else f"{labels[2]} · {labels[0]} / {labels[1]}"


def _events_query(group_by: str, key: Key, state: ViewState) -> str:
    """Query string of the events of a group; empty where they cannot be filtered alike."""
    pairs = [
        ("f", f"{field}:is:{value}")
        for field, value in zip(KEY_FIELDS[group_by], key, strict=True)
        if field in _EVENT_FILTERS and not value.startswith("(")
    ]
    kept = [pair for pair in state.parameters() if pair[0] in {"range", "from", "to"}]
    return f"?{urlencode([*kept, *pairs])}" if pairs else ""


PAGES: Final = (Page("GET /w/<public_id>/attribution", show_attribution),)
