"""Links from the numbers of a saved report to the records behind them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hosts.web.cards.card import Answer, Card, parse_instant
from hosts.web.charts.time_labels import detect_bucket_size
from hosts.web.explore_link import filter_parameters, have_view_filters
from hosts.web.number_links import (
    MAX_LINKED_ROWS,
    LinkOf,
    link_funnel_steps,
    link_numbers,
    link_numbers_to_receipts,
    link_to_receipts,
)
from hosts.web.view_state import ViewState, merge_filter_parameters
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.models import BUCKET


def link_report_numbers(
    card: Card, report: Answer, run: Answer, *, state: ViewState, catalog: Catalog, pages: str
) -> Card:
    """Returns the card of a run with its numbers as links, where an address can say all filters of the report.

    Args:
        card: of the run.
        report: with its plan or steps.
        run: the answer of its run.
        state: range and filters of the page.
        catalog: of metrics and dimensions.
        pages: address of the pages of the workspace.
    """
    skipped = {each["dimension"] for each in run["filters_skipped"]}
    state = replace(state, filters=tuple(one for one in state.filters if one.dimension not in skipped))
    data = run["data"]
    if "columns" in data:
        narrowed = _add_filters_of_plan(state, report["plan"])
        if narrowed is None:
            return card
        return link_numbers_to_receipts(
            card, data, link_to_receipts(catalog, narrowed, pages, **_options_of_plan(report["plan"]))
        )
    if "steps" in data:
        return _link_steps(card, data, state, pages)
    if "series" in data:
        return _link_series(card, data, link_to_receipts(catalog, state, pages))
    return card


def _add_filters_of_plan(state: ViewState, plan: Mapping[str, Any]) -> ViewState | None:
    """Returns the state with the filters and the segment of a plan; None where an address cannot say them."""
    saved = plan.get("filters", [])
    if not have_view_filters(saved):
        return None
    added = merge_filter_parameters(parameter for one in saved for parameter in filter_parameters(one))
    filters = (*state.filters, *added)
    if len({(one.dimension, one.kind) for one in filters}) < len(filters):
        return None
    return replace(state, filters=filters, segment_id=plan.get("segment_id"))


def _options_of_plan(plan: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of the receipt page that the plan asks for."""
    basis = str(plan.get("refund_basis") or "")
    return {
        "bots": "1" if plan.get("include_bots") else "",
        "refund_basis": "" if basis == "refund" else basis,
    }


def _link_series(card: Card, data: Answer, link_of: LinkOf) -> Card:
    """Links the value of a metric and those of its buckets."""
    metric = data["metric"]["id"]
    linked = replace(card, numbers=link_numbers(card.numbers, [metric], link_of))
    if card.shape == "numbers":
        return replace(linked, figure=link_numbers(card.figure, [metric], link_of))
    series = data["series"] or ()
    table = card.figure if card.shape == "table" else card.table
    if table is None or not series:
        return linked
    size = detect_bucket_size([parse_instant(point["timestamp"]) for point in series])
    links = tuple(
        (link_of(metric, [(BUCKET, f"{size}:{point['timestamp']}")]) if point["value"] is not None else "",)
        for point in series[:MAX_LINKED_ROWS]
    )
    table = replace(table, number_links=links)
    return replace(linked, figure=table) if card.shape == "table" else replace(linked, table=table)


def _link_steps(card: Card, data: Answer, state: ViewState, pages: str) -> Card:
    """Links the people of each step, and those who dropped off before it."""
    steps = {f"step{step['step']}": step["event_name"] for step in data["steps"]}
    options = {"window_days": data["window_days"], "order": data["order"], "unit": data["unit"]}
    funnel = replace(
        state, page_parameters=tuple((name, str(value)) for name, value in (steps | options).items())
    )
    return link_funnel_steps(
        card, lambda step, outcome: f"{pages}/funnels/people{funnel.link(at=str(step), outcome=outcome)}"
    )
