"""Why a metric changed: what each group of a dimension adds, unusual days, and days with missing data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from typing import Any, Final

from quart import Response, request

from hosts.web.cards.card import Answer, DisplayContext, parse_instant
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.tiles import describe_change
from hosts.web.charts.number_format import ValueFormat
from hosts.web.missing_values import explain_missing_values
from hosts.web.number_links import LinkOf, RowFilters, link_to_receipts
from hosts.web.overview_tabs import filterable_dimensions
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import Menu, RangeBar
from hosts.web.value_labels import label_dimension_value
from hosts.web.value_words import format_day
from hosts.web.view_periods import format_days
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import open_workspace_view
from service_core.analytics.query.catalog import Catalog

_DEFAULT_METRIC: Final = "visitors"
_DIMENSIONS: Final = (
    "channel", "attribution_source", "utm_campaign", "landing_page", "country", "device_type", "new_vs_returning",
    "event_name", "product", "plan", "provider", "platform", "campaign_name",
)  # fmt: skip
"""Dimensions that the page explains by, those the metric accepts."""

_MENUS: Final[frozenset[Menu]] = frozenset({"comparison", "filters", "segments"})
_LIMIT: Final = 6
_SUMS: Final = {"(other)": "All others", "(several groups)": "In several groups"}
_KIND_WORDS: Final = {"appeared": "New", "vanished": "Vanished", "grew": "Grew", "shrank": "Shrank"}
_GAP_WORDS: Final = {
    "no_events_received": "No events arrived for three hours or more",
    "events_rejected": "Many events were rejected",
    "events_quarantined": "Some events could not be stored",
    "events_in_flight": "Some events are not stored yet",
    "late_source": "A connected source has not reported yet",
}


@dataclass(frozen=True, slots=True)
class DriverRow:
    """One group: its values and what it adds to the change; the link filters the overview by it, and is empty where it cannot.

    The values have their text and the address of their records, which is empty where none are listed.
    """

    label: str
    link: str
    before: tuple[str, str]
    after: tuple[str, str]
    contribution: str
    kind: str


@dataclass(frozen=True, slots=True)
class DriverTable:
    """The groups of one dimension; for a ratio with the words on rate and mix."""

    title: str
    rows: Sequence[DriverRow]
    note: str


async def show_change_explanation(context: PageContext, public_id: str) -> Response:
    """The change of the metric in the address against the compared period, by dimension."""
    view = await open_workspace_view(context, public_id)
    catalog = context.component(Catalog)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, ("metric",))
    chosen = dict(state.page_parameters).get("metric", "")
    metric = chosen if chosen in catalog.metrics else _DEFAULT_METRIC
    state = replace(state, page_parameters=(("metric", metric),))
    setting = build_display_context(catalog, view.workspace)
    read = await view.post("/explain-change", _request_body(state, catalog, metric))
    ours = f"{context.base}{view.path}"
    return await view.render(
        "explain_change.html",
        state=state,
        bar=RangeBar(
            state, f"{ours}/explain", filterable_dimensions(catalog), _MENUS, f"{ours}/filter-values"
        ),
        metric=metric,
        label=setting.label(metric),
        metrics={id_: setting.label(id_) for id_ in catalog.metrics},
        read=read,
        explained=_describe_answer(read.data, state, setting, catalog, ours) if read.ok else None,
        missing=explain_missing_values(context, read.data["unavailable"]) if read.ok else (),
    )


def _request_body(state: ViewState, catalog: Catalog, metric: str) -> dict[str, Any]:
    accepted = catalog.metrics[metric].dimensions
    parts = {"compare": "previous_period"} | state.query_body_parts()
    dimensions = [id_ for id_ in _DIMENSIONS if id_ in accepted]
    return {"metric": metric, "dimensions": dimensions, "limit": _LIMIT, **parts}


def _describe_answer(
    answer: Answer, state: ViewState, setting: DisplayContext, catalog: Catalog, pages: str
) -> Mapping[str, Any]:
    """The answer in words."""
    metric, unit = answer["metric"], setting.format_for(answer["unit"], answer["metric"])
    before, after = answer["from"], answer["to"]
    rate_and_mix = {each["dimension"]: each for each in answer["rate_and_mix"] or ()}
    overview = replace(state, page_parameters=())
    linked_dimensions = filterable_dimensions(catalog)
    numbers = _LinkedValues(
        metric,
        unit,
        link_to_receipts(catalog, _state_of_days(state, answer["previous_range"], setting), pages),
        link_to_receipts(catalog, _state_of_days(state, answer["range"], setting), pages),
    )
    return {
        "after": numbers.after(after),
        "before": numbers.before(before),
        "change": describe_change(metric, unit.name, after, before, "")
        if answer["change"] is not None
        else None,
        "days": _days_of_range(answer["range"], setting),
        "compared_days": _days_of_range(answer["previous_range"], setting),
        "tables": [
            DriverTable(
                setting.label(dimension),
                [
                    _driver_row(
                        driver, numbers, link_from=overview if dimension in linked_dimensions else None
                    )
                    for driver in sorted(drivers, key=lambda driver: driver["value"] in _SUMS)
                ],
                _rate_and_mix_note(rate_and_mix.get(dimension), unit),
            )
            for dimension, drivers in groupby(answer["drivers"], key=lambda driver: driver["dimension"])
        ],
        "anomalies": [
            (
                format_day(each["date"], setting.zone),
                (
                    unit.format_in_full_or_dash(each["value"]),
                    link_to_receipts(catalog, _state_of_day(state, each["date"], setting), pages)(metric, ()),
                ),
                " to ".join(
                    unit.format_in_full_or_dash(each[end]) for end in ("expected_low", "expected_high")
                ),
            )
            for each in answer["anomalies"]
        ],
        "coverage": [
            (format_day(each["date"], setting.zone), _GAP_WORDS[each["reason"]])
            for each in answer["coverage"]
        ],
    }


def _rate_and_mix_note(parts: Answer | None, unit: ValueFormat) -> str:
    """What groups and what their shares add to the change of a ratio; empty for other metrics."""
    if parts is None:
        return ""
    rate, mix = (_signed(parts[name], unit) for name in ("rate", "mix"))
    return f"{rate} from changes within groups, {mix} from shifts between groups."


@dataclass(frozen=True, slots=True)
class _LinkedValues:
    """Values of the metric in words with the addresses of their receipts, in the range and in the compared one."""

    metric: str
    unit: ValueFormat
    link_before: LinkOf
    link_after: LinkOf

    def before(self, value: float | None, filters: RowFilters = ()) -> tuple[str, str]:
        """Text and address of a value in the compared range."""
        return self.unit.format_in_full_or_dash(value), self.link_before(self.metric, filters)

    def after(self, value: float | None, filters: RowFilters = ()) -> tuple[str, str]:
        """Text and address of a value in the range."""
        return self.unit.format_in_full_or_dash(value), self.link_after(self.metric, filters)


def _state_of_days(state: ViewState, covered: Answer, setting: DisplayContext) -> ViewState:
    return state.with_days(*_first_and_last_day(covered, setting))


def _state_of_day(state: ViewState, moment: str, setting: DisplayContext) -> ViewState:
    day = parse_instant(moment).astimezone(setting.zone).date()
    return state.with_days(day, day)


def _driver_row(driver: Answer, numbers: _LinkedValues, *, link_from: ViewState | None) -> DriverRow:
    """Returns the row of a group; its link filters the overview in `link_from`, if that can take the dimension."""
    dimension, value = driver["dimension"], driver["value"]
    is_sum = value in _SUMS
    return DriverRow(
        _SUMS[value] if is_sum else label_dimension_value(dimension, value),
        "" if is_sum or link_from is None else link_from.with_filter(dimension, value).query_string,
        ("", "") if is_sum else numbers.before(driver["from"], [(dimension, value)]),
        ("", "") if is_sum else numbers.after(driver["to"], [(dimension, value)]),
        _signed(driver["contribution"], numbers.unit),
        "" if is_sum else _KIND_WORDS[driver["kind"]],
    )


def _signed(value: float, unit: ValueFormat) -> str:
    """A difference with its sign."""
    text = unit.format_in_full_or_dash(abs(value))
    return f"+{text}" if value > 0 else f"−{text}" if value < 0 else text  # noqa: RUF001 - a minus as wide as the plus


def _days_of_range(covered: Answer, setting: DisplayContext) -> str:
    return format_days(*_first_and_last_day(covered, setting))


def _first_and_last_day(covered: Answer, setting: DisplayContext) -> tuple[date, date]:
    first, last = (parse_instant(covered[end]).astimezone(setting.zone).date() for end in ("from", "to"))
    return first, last


PAGES: Final = (Page("GET /w/<public_id>/explain", show_change_explanation),)
