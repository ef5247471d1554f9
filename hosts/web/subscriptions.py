"""Subscriptions: recurring revenue, how it came from its start to its end, and the subscriptions themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.charts.number_format import ValueFormat
from hosts.web.missing_values import build_number, explain_missing_values
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.revenue import label_revenue_platform
from hosts.web.value_labels import label_dimension_value
from hosts.web.value_words import format_day, humanize, person_path
from hosts.web.view_state import read_view_state
from hosts.web.workspace_view import open_workspace_view
from service_core.access.models import Workspace
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.providers import InstalledProviders
from service_core.commerce.subscriptions.models import SubscriptionStatus

PAGE_SIZE: Final = 50
_SUMMARY: Final = (
    ("mrr", "MRR", "currency"), ("arr", "ARR", "currency"), ("active", "Active", "count"), ("trialing", "Trialing", "count"),
    ("past_due", "Past due", "count"), ("new", "New", "count"), ("canceled", "Canceled", "count"),
    ("churn_rate", "Churn rate", "ratio"), ("trial_conversion_rate", "Trials that converted", "ratio"),
)  # fmt: skip
_MOVEMENTS: Final = (
    ("start_mrr", "MRR at the start"), ("new", "New"), ("expansion", "Expansion"), ("reactivation", "Reactivation"),
    ("contraction", "Contraction"), ("churn", "Churn"), ("fx", "Exchange rates"), ("end_mrr", "MRR at the end"),
)  # fmt: skip
_PARAMETERS: Final = ("provider", "status")


@dataclass(frozen=True, slots=True)
class MovementLine:
    """A step from the recurring revenue at the start to that at the end; the bar is in per cent of the largest."""

    label: str
    text: str
    left: float
    width: float
    is_loss: bool
    is_total: bool


async def show_subscriptions(context: PageContext, public_id: str) -> Response:
    """Summary, movements and a page of subscriptions."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    status = chosen.get("status", "")
    read = await view.get(
        "/subscriptions",
        **state.date_parameters(),
        provider=chosen.get("provider", ""),
        status=status if status in set(SubscriptionStatus) else "",
        limit=str(PAGE_SIZE),
        cursor=request.args.get("cursor", ""),
    )
    return await view.render(
        "subscriptions.html",
        state=state,
        bar=build_page_range_bar(
            context, view.workspace, "/subscriptions", state, (), accepts_segments=False
        ),
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        chosen=chosen,
        providers={"": "All", **_installed_providers(context)},
        statuses={"": "Any", **{one.value: humanize(one.value) for one in SubscriptionStatus}},
        read=read,
        following=_following_link(read, state.link),
        **_describe_subscriptions(context, view.workspace, read),
    )


def _installed_providers(context: PageContext) -> dict[str, str]:
    ids = context.component(InstalledProviders).ids_of_kind(ProviderKind.REVENUE)
    return {id_: label_revenue_platform(id_) for id_ in ids}


def _following_link(read: ApiResult, link: Any) -> str | None:
    cursor = read.data.get("next_cursor")
    return link(cursor=cursor) if cursor else None


def _describe_subscriptions(context: PageContext, workspace: Workspace, read: ApiResult) -> dict[str, Any]:
    if read.problem is not None:
        return {}
    summary, currency = read.data["summary"], read.data["currency"]
    return {
        "is_known": summary["mrr"] is not None or bool(read.data["subscriptions"]),
        "numbers": [
            build_number(label, ValueFormat(unit, currency), summary, field, read.data["unavailable"])
            for field, label, unit in _SUMMARY
        ],
        "movements": build_movement_lines(summary["movements"], currency),
        "lines": [_build_subscription_line(row, workspace) for row in read.data["subscriptions"]],
        "missing": explain_missing_values(context, read.data["unavailable"]),
    }


def build_movement_lines(movements: Mapping[str, float | None], currency: str) -> list[MovementLine]:
    """The steps as a waterfall; none unless every step is known."""
    known = {field: value for field, value in movements.items() if value is not None}
    if any(field not in known for field, _ in _MOVEMENTS):
        return []
    money, reached, lines = ValueFormat("currency", currency), 0.0, []
    spans: list[tuple[str, float, float, float, bool]] = []
    for field, label in _MOVEMENTS:
        value = known[field]
        is_total = field in {"start_mrr", "end_mrr"}
        before, after = (0.0, value) if is_total else (reached, reached + value)
        reached = after
        spans.append((label, value, min(before, after), max(before, after), is_total))
    highest = max((top for *_, top, _ in spans), default=0.0) or 1.0
    for label, value, bottom, top, is_total in spans:
        sign = "+" if value > 0 and not is_total else ""
        lines.append(
            MovementLine(
                label,
                f"{sign}{money.format_in_full_or_dash(value)}",
                round(100 * max(bottom, 0.0) / highest, 2),
                round(100 * (top - max(bottom, 0.0)) / highest, 2),
                is_loss=value < 0,
                is_total=is_total,
            )
        )
    return lines


def _build_subscription_line(row: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    money = ValueFormat("currency", row["currency"] or workspace.currency)
    interval = f" per {row['interval']}" if row["interval"] and row["amount"] is not None else ""
    return {
        "plan": row["plan"] or row["product_id"] or row["id"],
        "id": row["id"],
        "provider": label_revenue_platform(row["provider"]),
        "status": humanize(row["status"]),
        "is_ending": row["cancel_at_period_end"],
        "price": f"{money.format_in_full_or_dash(row['amount'])}{interval}",
        "mrr": money.format_in_full_or_dash(row["mrr"]),
        "started": format_day(row["started_at"], workspace.zone),
        "ends": format_day(row["current_period_end"], workspace.zone),
        "person": row["user_id"],
        "person_path": person_path({"user_id": row["user_id"], "visitor_id": ""}) if row["user_id"] else "",
        "source": label_dimension_value("attribution_source", row["attribution_source"])
        if row["attribution_source"]
        else "Unknown",
        "campaign": row["utm_campaign"],
    }


PAGES: Final = (Page("GET /w/<public_id>/subscriptions", show_subscriptions),)
