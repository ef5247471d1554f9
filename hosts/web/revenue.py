"""Revenue: what all providers and tracked events report together, by provider and over time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Card, Number
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.queries import build_query_card_by_columns
from hosts.web.charts.number_format import ValueFormat
from hosts.web.missing_values import build_number, explain_missing_values
from hosts.web.number_links import LinkOf, RowFilters, link_numbers_to_receipts, link_to_receipts
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.value_words import format_moment, humanize
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel

REFUND_LABELS: Final[Mapping[str, str]] = {
    "refund": "On the day of the refund",
    "order": "On the day of the order",
}
STATUS_LABELS: Final[Mapping[str, str]] = {
    "connected": "Connected",
    "pending": "Connecting, nothing read yet",
    "error": "Cannot be read, still being tried",
    "expired": "Credentials refused: renew them",
    "disconnected": "Disconnected",
}
"""Status of a connection in words."""

_FIELDS: Final = (
    ("revenue", "Revenue", "currency"), ("net_revenue", "Net revenue", "currency"), ("orders", "Orders", "count"),
    ("aov", "Average order", "currency"), ("refunds", "Refunds", "currency"), ("refund_count", "Refunded orders", "count"),
    ("subscriptions", "New subscriptions", "count"),
)  # fmt: skip
_PARAMETERS: Final = ("refund_basis",)


async def show_revenue(context: PageContext, public_id: str) -> Response:
    """Totals, the course of revenue, and a row per provider."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    basis = dict(state.page_parameters).get("refund_basis", "refund")
    basis = basis if basis in REFUND_LABELS else "refund"
    revenue, series = await gather_or_cancel(
        view.get("/revenue", **state.date_parameters(), refund_basis=basis),
        _read_series(view, state, basis),
    )
    shown = {} if revenue.problem else _describe_revenue(context, revenue.data, state, basis)
    return await view.render(
        "revenue.html",
        state=state,
        bar=build_page_range_bar(context, view.workspace, "/revenue", state, (), accepts_segments=False),
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        basis=basis,
        bases=REFUND_LABELS,
        read=revenue,
        series=series,
        series_card=_build_series_card(context, view, series, state, basis),
        **shown,
    )


async def _read_series(view: WorkspaceView, state: ViewState, basis: str) -> ApiResult:
    dates = state.query_body_parts(with_comparison=False)["date_range"]
    return await view.post(
        "/query",
        {"metrics": ["revenue"], "interval": state.interval, "date_range": dates, "refund_basis": basis},
    )


def _build_series_card(
    context: PageContext, view: WorkspaceView, series: ApiResult, state: ViewState, basis: str
) -> Card | None:
    if series.problem is not None:
        return None
    catalog = context.component(Catalog)
    setting = build_display_context(catalog, view.workspace)
    card = replace(
        build_query_card_by_columns("Revenue over time", series.data, setting), size="lg", numbers=()
    )
    link_of = link_to_receipts(
        catalog, state.for_everybody, f"{context.base}{view.path}", refund_basis=_parameter_of_basis(basis)
    )
    return link_numbers_to_receipts(card, series.data, link_of)


def _parameter_of_basis(basis: str) -> str:
    """The basis as an address has it: the default is left out."""
    return "" if basis == "refund" else basis


def _describe_revenue(
    context: PageContext, answer: Mapping[str, Any], state: ViewState, basis: str
) -> dict[str, Any]:
    catalog = context.component(Catalog)

    link_of = link_to_receipts(catalog, state.for_everybody, "", refund_basis=_parameter_of_basis(basis))
    return {
        "heads": [label for _, label, _ in _FIELDS],
        "totals": _build_numbers(answer["combined"], answer, link_of, ()),
        "platforms": [
            {
                "id": row["platform"],
                "name": label_revenue_platform(row["platform"]),
                "numbers": _build_numbers(row, answer, link_of, [("provider", row["platform"])]),
                "status": "" if row["platform"] == "tracked" else STATUS_LABELS[row["status"]],
                "last_synced": format_moment(row["last_synced_at"], state.zone)
                if row["last_synced_at"]
                else "",
            }
            for row in answer["platforms"]
        ],
        "missing": explain_missing_values(context, answer["unavailable"]),
    }


def label_revenue_platform(id_: str) -> str:
    """The name of a provider; money that events alone report is "Tracked events"."""
    return "Tracked events" if id_ == "tracked" else humanize(id_)


def _build_numbers(
    values: Mapping[str, Any],
    answer: Mapping[str, Any],
    link_of: LinkOf,
    filters: RowFilters,
) -> list[Number]:
    unavailable = answer["unavailable"]
    return [
        build_number(
            label,
            ValueFormat(unit, answer["currency"]),
            values,
            field,
            unavailable,
            link=link_of(field, filters),
        )
        for field, label, unit in _FIELDS
    ]


PAGES: Final = (Page("GET /w/<public_id>/revenue", show_revenue),)
