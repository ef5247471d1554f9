"""Retention and lifetime value: who comes back, and what the people of a period brought since."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.breakdown_choice import (
    EVENT_BREAKDOWNS,
    FIRST_TOUCH_BREAKDOWNS,
    chosen_breakdown,
    label_breakdowns,
)
from hosts.web.charts.number_format import ValueFormat
from hosts.web.cohort_table import (
    HeatCell,
    Row,
    build_cohort_table,
    build_group_table,
    build_period_curve,
    heat_level,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, exact_filter_parameters, skipped_filter_labels
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.async_gather import gather_or_cancel

GRANULARITY_LABELS: Final[Mapping[str, str]] = {
    "": "By length of the range",
    "day": "Days",
    "week": "Weeks",
    "month": "Months",
}
COHORT_LABELS: Final[Mapping[str, str]] = {
    "first_seen": "First visit",
    "first_conversion": "First conversion",
}
MODE_LABELS: Final[Mapping[str, str]] = {
    "on": "In the period itself",
    "on_or_after": "In it or any later one",
}
DIMENSIONS: Final = ("channel", "utm_source", "utm_campaign", "country")
DEFAULT_PERIODS: Final = "12"
_PARAMETERS: Final = (
    "view", "granularity", "periods", "cohort_by", "event_name", "mode", "include_partial", "by",
)  # fmt: skip
_RETENTION_ONLY: Final = ("event_name", "mode")
_NOT_OF_BOTH_READS: Final = frozenset({"view", "by", *_RETENTION_ONLY})


async def show_retention(context: PageContext, public_id: str) -> Response:
    """Retention by cohort, or their lifetime value."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    is_ltv = chosen.get("view") == "ltv"
    reads = await _read_cohorts(view, state, is_ltv=is_ltv)
    return await view.render(
        "ltv.html" if is_ltv else "retention.html",
        state=state,
        chosen={"periods": DEFAULT_PERIODS, **chosen},
        granularities=GRANULARITY_LABELS,
        cohorts=COHORT_LABELS,
        modes=MODE_LABELS,
        by=chosen_breakdown(state),
        breakdowns=label_breakdowns(context, (*FIRST_TOUCH_BREAKDOWNS, *EVENT_BREAKDOWNS), state),
        bar=build_page_range_bar(context, view.workspace, "/retention", state, DIMENSIONS),
        skipped=skipped_filter_labels(context, exact_filter_parameters(state, DIMENSIONS)[1]),
        read=reads[0],
        names=reads[1],
        **_describe_cohorts(reads[0], is_ltv=is_ltv),
    )


async def _read_cohorts(
    view: WorkspaceView, state: ViewState, *, is_ltv: bool
) -> tuple[ApiResult, ApiResult | None]:
    """The cohorts, and for retention the event names to choose from."""
    chosen = dict(state.page_parameters)
    parameters = {
        **state.range_and_segment_parameters(),
        **exact_filter_parameters(state, DIMENSIONS)[0],
        **{name: chosen.get(name, "") for name in _PARAMETERS if name not in _NOT_OF_BOTH_READS},
        "breakdown": chosen_breakdown(state),
    }
    if is_ltv:
        return await view.get("/ltv", **parameters), None
    parameters |= {name: chosen.get(name, "") for name in _RETENTION_ONLY}
    cohorts, names = await gather_or_cancel(view.get("/retention", **parameters), view.get("/event-names"))
    return cohorts, names


def _describe_cohorts(read: ApiResult, *, is_ltv: bool) -> dict[str, Any]:
    if read.problem is not None or not read.data["rows"]:
        return {"table": None, "curve": None, "groups": None}
    return _describe_lifetime_value(read.data) if is_ltv else _describe_retention(read.data)


def _describe_retention(answer: Mapping[str, Any]) -> dict[str, Any]:
    granularity = answer["granularity"]
    pooled = _pooled_rates(answer["averages"])
    highest = max((row["retention_rate"] or 0 for row in answer["rows"] if row["period"]), default=0.0)
    cells = {
        period: HeatCell(ValueFormat("ratio").format_in_full_or_dash(rate), "", heat_level(rate, highest))
        for period, rate in pooled.items()
    }
    return {
        "table": build_cohort_table(
            answer["rows"], granularity, lambda row: _retention_cell(row, highest), cells
        ),
        "curve": build_period_curve("People who came back", granularity, pooled, ValueFormat("ratio")),
        "groups": build_group_table(
            answer, ValueFormat("ratio"), pooled, lambda group: _pooled_rates(group["averages"])
        ),
    }


def _pooled_rates(averages: Sequence[Mapping[str, Any]]) -> dict[int, float | None]:
    return {row["period"]: row["retention_rate"] for row in averages}


def _retention_cell(row: Row, highest: float) -> HeatCell:
    return HeatCell(
        ValueFormat("ratio").format_in_full_or_dash(row["retention_rate"]),
        ValueFormat().format_in_full_or_dash(row["active_persons"]),
        heat_level(row["retention_rate"], highest),
        row["partial"],
    )


def _describe_lifetime_value(answer: Mapping[str, Any]) -> dict[str, Any]:
    granularity, money = answer["granularity"], ValueFormat("currency", answer["currency"])
    highest = max(row["cumulative_revenue_per_person"] or 0 for row in answer["rows"])
    pooled = pool_value_per_person(answer["rows"])
    cells = {
        period: HeatCell(money.format_in_full_or_dash(value), "", heat_level(value, highest))
        for period, value in pooled.items()
    }
    return {
        "table": build_cohort_table(
            answer["rows"], granularity, lambda row: _value_cell(row, highest, money), cells
        ),
        "curve": build_period_curve("Revenue per person so far", granularity, pooled, money),
        "groups": build_group_table(
            answer, money, pooled, lambda group: pool_value_per_person(group["rows"])
        ),
    }


def _value_cell(row: Row, highest: float, money: ValueFormat) -> HeatCell:
    return HeatCell(
        money.format_in_full_or_dash(row["cumulative_revenue_per_person"]),
        money.format_in_full_or_dash(row["cumulative_revenue"]),
        heat_level(row["cumulative_revenue_per_person"], highest),
        row["partial"],
    )


def pool_value_per_person(rows: Sequence[Row]) -> dict[int, float | None]:
    """Revenue per person up to each period, over all cohorts that have passed it; None if one of them is unknown."""
    pooled: dict[int, float | None] = {}
    for period in sorted({row["period"] for row in rows if not row["partial"]}):
        some = [row for row in rows if row["period"] == period and not row["partial"]]
        amounts = [row["cumulative_revenue"] for row in some]
        is_known = all(amount is not None for amount in amounts)
        pooled[period] = sum(amounts) / sum(row["cohort_size"] for row in some) if is_known else None
    return pooled


PAGES: Final = (Page("GET /w/<public_id>/retention", show_retention),)
