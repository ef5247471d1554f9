"""Experiments: which variant sells better, how sure that is, and how small a difference the data could show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.value_words import person_name, person_path
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.async_gather import gather_or_cancel

DEFAULT_WINDOW_DAYS: Final = "14"
_OPTIONS: Final = ("experiment", "control", "goal", "window_days")
_RATE: Final = ValueFormat("ratio")
_COUNT: Final = ValueFormat()


@dataclass(frozen=True, slots=True)
class VariantLine:
    """A variant in the table; all values are words.

    Attributes:
        rate_range, money_range: the confidence intervals; empty where there is none.
    """

    name: str
    is_control: bool
    people: str
    still_open: str
    converted: str
    rate: str
    rate_range: str
    revenue: str
    per_person: str
    money_range: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What the data say about a variant and the one it is compared with.

    Attributes:
        name: of the variant.
        rate, money: a sentence on conversion and one on revenue per person.
        rate_tone, money_tone: ``good``, ``bad`` or empty.
    """

    name: str
    rate: str
    rate_tone: str
    money: str
    money_tone: str


async def show_experiments(context: PageContext, public_id: str) -> Response:
    """The variants of the chosen experiment, or of the one with the most people."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _OPTIONS)
    chosen = dict(state.page_parameters)
    known, names = await gather_or_cancel(
        view.get("/experiments", **state.date_parameters()), view.get("/event-names")
    )
    listed = {row["experiment"]: row["experiment"] for row in known.data.get("experiments", ())}
    experiment = chosen.get("experiment") or next(iter(listed), "")
    read = await _read_results(view, state, experiment)
    return await view.render(
        "experiments.html",
        state=state,
        chosen={"window_days": DEFAULT_WINDOW_DAYS, **chosen, "experiment": experiment},
        experiments={experiment: experiment} | listed if experiment else {},
        names=names,
        known=known,
        read=read,
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        bar=build_page_range_bar(context, view.workspace, "/experiments", state, (), accepts_segments=False),
        **({} if read is None or read.problem else _describe_results(read.data)),
    )


async def _read_results(view: WorkspaceView, state: ViewState, experiment: str) -> ApiResult | None:
    """The answer for an experiment; None without one."""
    if not experiment:
        return None
    chosen = dict(state.page_parameters)
    options = {name: chosen.get(name, "") for name in _OPTIONS if name != "experiment"}
    return await view.get("/experiments/results", **state.date_parameters(), **options, experiment=experiment)


def _describe_results(answer: Mapping[str, Any]) -> dict[str, Any]:
    variants, money = answer["variants"], ValueFormat("currency", answer["currency"])
    control = next((variant for variant in variants if variant["is_control"]), None)
    return {
        "lines": [_build_line(variant, money) for variant in variants],
        "control": None if control is None else control["variant"],
        "findings": [
            _build_finding(variant, money)
            for variant in variants
            if variant["conversion_rate_difference"] is not None
        ],
        "excluded": [(person_name(person), person_path(person)) for person in answer["excluded"]],
        "excluded_count": _COUNT.format_in_full_or_dash(answer["excluded_persons"]),
    }


def _build_line(variant: Mapping[str, Any], money: ValueFormat) -> VariantLine:
    return VariantLine(
        name=variant["variant"],
        is_control=variant["is_control"],
        people=_COUNT.format_in_full_or_dash(variant["persons"]),
        still_open=_COUNT.format_in_full_or_dash(variant["open"]) if variant["open"] else "",
        converted=_COUNT.format_in_full_or_dash(variant["converted"]),
        rate=_RATE.format_in_full_or_dash(variant["conversion_rate"]),
        rate_range=_range_in_words(_RATE, variant["conversion_rate_low"], variant["conversion_rate_high"]),
        revenue=money.format_in_full_or_dash(variant["revenue"]),
        per_person=money.format_in_full_or_dash(variant["revenue_per_person"]),
        money_range=_range_in_words(
            money, variant["revenue_per_person_low"], variant["revenue_per_person_high"]
        ),
    )


def _range_in_words(unit: ValueFormat, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{unit.format_in_full_or_dash(low)} to {unit.format_in_full_or_dash(high)}"


def _build_finding(variant: Mapping[str, Any], money: ValueFormat) -> Finding:
    rate, revenue = variant["conversion_rate_difference"], variant["revenue_difference"]
    return Finding(
        name=variant["variant"],
        rate=_describe_rate_difference(rate),
        rate_tone=_tone(rate["conclusion"]),
        money=_describe_revenue_difference(revenue, money),
        money_tone=_tone(revenue["conclusion"]) if revenue else "",
    )


def _describe_rate_difference(difference: Mapping[str, Any]) -> str:
    low, high = (_points(difference[end]) for end in ("low", "high"))
    if difference["conclusion"] == "better":
        return f"Converts better: {low} to {high} percentage points more."
    if difference["conclusion"] == "worse":
        return f"Converts worse: {_points(-difference['high'])} to {_points(-difference['low'])} percentage points less."
    detectable = difference["smallest_detectable_difference"]
    hint = (
        ""
        if detectable is None
        else f" With this many people, only a difference of about {_points(detectable)} percentage points or more would show."
    )
    return (
        f"No difference in conversion shown: it may be anything from {low} to {high} percentage points.{hint}"
    )


def _describe_revenue_difference(difference: Mapping[str, Any] | None, money: ValueFormat) -> str:
    if difference is None:
        return "Revenue cannot be compared: some amounts are in a currency without an exchange rate."
    if difference["conclusion"] is None:
        return "Too few people to compare revenue: each variant needs at least 30."
    low, high = (money.format_in_full_or_dash(difference[end]) for end in ("low", "high"))
    if difference["conclusion"] == "better":
        return f"Brings more revenue: {low} to {high} more per person."
    if difference["conclusion"] == "worse":
        less = [money.format_in_full_or_dash(-difference[end]) for end in ("high", "low")]
        return f"Brings less revenue: {less[0]} to {less[1]} less per person."
    detectable = difference["smallest_detectable_difference"]
    hint = (
        ""
        if detectable is None
        else f" Only a difference of about {money.format_in_full_or_dash(detectable)} or more would show."
    )
    return f"No difference in revenue shown: it may be anything from {low} to {high} per person.{hint}"


def _points(share: float) -> str:
    return f"{share * 100:,.1f}"


def _tone(conclusion: str | None) -> str:
    return {"better": "good", "worse": "bad"}.get(conclusion or "", "")


PAGES: Final = (Page("GET /w/<public_id>/experiments", show_experiments),)
