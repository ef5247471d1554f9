"""Profit: from revenue over refunds, costs and spend to what is left, and how far each part is known."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import NOTHING_READ
from hosts.web.cards.card import Number
from hosts.web.charts.number_format import ValueFormat
from hosts.web.missing_values import explain_missing_values
from hosts.web.number_links import link_to_receipts
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.revenue import REFUND_LABELS
from hosts.web.value_words import format_moment, humanize
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import open_workspace_view
from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.date_range import parse_inclusive_start_end_dates
from service_core.kernel.timestamps import format_timestamp

_STATEMENT: Final = (
    ("gross_revenue", "Gross revenue", 1), ("discounts", "Discounts", -1), ("revenue", "Revenue", 0),
    ("refunds", "Refunds", -1), ("net_revenue", "Net revenue", 0), ("cogs", "Cost of goods", -1),
    ("shipping_costs", "Shipping costs", -1), ("fees", "Payment fees", -1), ("spend", "Ad spend", -1), ("profit", "Profit", 0),
)  # fmt: skip
"""Fields from the top to the bottom line: what comes in, what goes out (-1), and subtotals (0)."""

_RATIOS: Final = (
    ("profit", "Profit", "currency"), ("margin", "Margin", "ratio"), ("orders", "Orders", "count"),
    ("aov", "Average order", "currency"), ("new_customers", "New customers", "count"), ("cac", "Cost per new customer", "currency"),
    ("roas", "ROAS", "multiple"), ("platform_roas", "ROAS the platform claims", "multiple"), ("mer", "Revenue per ad spend (MER)", "multiple"),
)  # fmt: skip
_METRIC_OF_FIELD: Final = {"spend": "ad_spend"}
"""Field of the answer -> metric of the same number, where their names differ."""

_PARAMETERS: Final = ("refund_basis",)


async def show_profit(context: PageContext, public_id: str) -> Response:
    """The statement from revenue to profit."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    basis = dict(state.page_parameters).get("refund_basis", "refund")
    basis = basis if basis in REFUND_LABELS else "refund"
    start, end = hour_aligned_span(state, view.workspace, view.caller.now)
    is_begun = start < end
    read = (
        await view.get(
            "/commerce-metrics",
            start_date=format_timestamp(start),
            end_date=format_timestamp(end),
            refund_basis=basis,
        )
        if is_begun
        else NOTHING_READ
    )
    return await view.render(
        "profit.html",
        state=state,
        bar=build_page_range_bar(context, view.workspace, "/profit", state, (), accepts_segments=False),
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        basis=basis,
        bases=REFUND_LABELS,
        read=read,
        is_begun=is_begun,
        through=format_moment(format_timestamp(end), view.workspace.zone),
        **(
            _describe_profit(context, view.workspace, read.data, _receipts_of_span(context, state, read.data))
            if is_begun and not read.problem
            else {}
        ),
    )


def hour_aligned_span(state: ViewState, workspace: Workspace, now: datetime) -> tuple[datetime, datetime]:
    """Start and end of the range on whole hours of UTC, the end exclusive and not ahead of the last full hour."""
    dates = state.date_parameters()
    span = parse_inclusive_start_end_dates(dates["start_date"], dates["end_date"], workspace.zone, now).span
    return _floor_to_hour(span.start), _floor_to_hour(min(span.end, now) + _almost_an_hour(span.end, now))


def _almost_an_hour(end: datetime, now: datetime) -> timedelta:
    """What rounds the end of a past range up to its full hour; nothing for one that is not over."""
    return timedelta(0) if end > now or end == _floor_to_hour(end) else min(timedelta(hours=1), now - end)


def _floor_to_hour(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _receipts_of_span(
    context: PageContext, state: ViewState, answer: Mapping[str, Any]
) -> Callable[[str], str]:
    """Returns field -> the receipt of its number over the hours of the answer, below the workspace."""
    catalog = context.component(Catalog)
    basis = "" if answer["refund_basis"] == "refund" else answer["refund_basis"]
    link_of = link_to_receipts(
        catalog,
        state.for_everybody,
        "",
        start=answer["start_date"],
        end=answer["end_date"],
        refund_basis=basis,
    )
    return lambda field: "" if answer[field] is None else link_of(_METRIC_OF_FIELD.get(field, field), ())


def _describe_profit(
    context: PageContext, workspace: Workspace, answer: Mapping[str, Any], link_of: Callable[[str], str]
) -> dict[str, Any]:
    currency, known = answer["currency"], answer["completeness"]
    money = ValueFormat("currency", currency)
    return {
        "statement": [
            {
                "label": label,
                "text": "unknown" if answer[field] is None else money.format_in_full_or_dash(answer[field]),
                "sign": "−" if sign < 0 and answer[field] else "",  # noqa: RUF001 - a minus as wide as a digit
                "link": link_of(field),
                "is_total": sign == 0,
            }
            for field, label, sign in _STATEMENT
        ],
        "numbers": [
            Number(
                label,
                ValueFormat(unit, currency).format_in_full_or_dash(answer[field]),
                answer[field] is None,
                link_of(field),
            )
            for field, label, unit in _RATIOS
        ],
        "missing": explain_missing_values(context, answer["unavailable"]),
        "known": list(_list_completeness(known, workspace)),
    }


def _list_completeness(known: Mapping[str, Any], workspace: Workspace) -> list[tuple[str, str]]:
    """What is known of each part, in words."""
    share = known["costs"]["covered_revenue_share"]
    covered = "" if share is None else f"{share * 100:.0f} % of what was sold has a cost"
    lines = [
        ("Revenue", _describe_part(known["revenue"], workspace)),
        *(
            (f"Spend on {humanize(platform['platform'])}", _describe_part(platform, workspace))
            for platform in known["spend"]["platforms"]
        ),
    ]
    return [*lines, ("Costs", "Complete" if known["costs"]["complete"] else covered or "Not known")]


def _describe_part(part: Mapping[str, Any], workspace: Workspace) -> str:
    return "Complete" if part["complete"] else f"Known up to {format_moment(part['through'], workspace.zone)}"


PAGES: Final = (Page("GET /w/<public_id>/profit", show_profit),)
