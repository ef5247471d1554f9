"""Ads: spend and what it brought, from campaigns to groups to ads, with the claims of the platforms beside."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Number
from hosts.web.charts.number_format import ValueFormat
from hosts.web.missing_values import build_number, explain_missing_values
from hosts.web.number_links import receipt_link
from hosts.web.page_context import Page, PageContext
from hosts.web.read_filters import build_page_range_bar, skipped_filter_labels
from hosts.web.revenue import STATUS_LABELS
from hosts.web.value_words import format_moment, humanize
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog, MetricUnit
from service_core.kernel.async_gather import gather_or_cancel

LEVELS: Final = ("campaign", "group", "ad")
LEVEL_LABELS: Final[Mapping[str, str]] = {"campaign": "Campaigns", "group": "Ad groups", "ad": "Ads"}
MAX_LISTED: Final = 200
_ID_DIMENSIONS: Final = {"campaign": "campaign_id", "group": "ad_group_id", "ad": "ad_id"}
_NEXT_LEVEL: Final = {"campaign": ("group", "campaign_id"), "group": ("ad", "group_id")}
"""Level -> the level below, and the parameter that narrows it to one row."""

_TOTALS: Final = (
    ("spend", "Spend", "currency"), ("impressions", "Impressions", "count"), ("clicks", "Clicks", "count"),
    ("ctr", "Click rate", "ratio"), ("cpc", "Cost per click", "currency"),
    ("conversions", "Claimed conversions", "number"), ("conversion_value", "Claimed value", "currency"),
)  # fmt: skip
_METRICS: Final = {
    "spend": "ad_spend", "impressions": "impressions", "clicks": "clicks", "ctr": "ctr", "cpc": "cpc",
    "conversions": "platform_conversions", "conversion_value": "platform_conversion_value",
}  # fmt: skip
"""Field of the answer -> metric of the same number."""

_MULTIPLE: Final = ValueFormat("multiple")
_CURRENCY_UNITS: Final = (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT)
_PARAMETERS: Final = ("level", "campaign_id", "group_id", "platform")


@dataclass(frozen=True, slots=True)
class AdLine:
    """A campaign, group or ad; amounts of the platform are in the currency of its account.

    Attributes:
        records: field -> path and query string below the workspace of the spend rows that its number sums.
    """

    name: str
    below: str
    link: str | None
    spend: str
    impressions: str
    clicks: str
    claimed_conversions: str
    claimed_value: str
    claimed_roas: str
    credited_revenue: str
    credited_roas: str
    records: Mapping[str, str]


async def show_ads(context: PageContext, public_id: str) -> Response:
    """Totals, accounts, and the rows of a level."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, _PARAMETERS)
    chosen = dict(state.page_parameters)
    level = chosen.get("level", "campaign")
    level = level if level in LEVELS else "campaign"
    ads, credited = await gather_or_cancel(
        view.get(
            "/ads",
            **state.date_parameters(),
            level=level,
            platform=chosen.get("platform", ""),
            limit=str(MAX_LISTED),
        ),
        _read_credited_revenue(view, state, level),
    )
    return await view.render(
        "ads.html",
        state=state,
        bar=build_page_range_bar(context, view.workspace, "/ads", state, (), accepts_segments=False),
        skipped=skipped_filter_labels(context, [one.dimension for one in state.filters]),
        chosen=chosen,
        level=level,
        levels=LEVEL_LABELS,
        read=ads,
        credited=credited,
        **(_describe_ads(context, state, ads.data, credited, level) if ads.problem is None else {}),
    )


async def _read_credited_revenue(view: WorkspaceView, state: ViewState, level: str) -> ApiResult:
    """The revenue that the workspace's attribution gives to each campaign, group or ad."""
    dates = state.query_body_parts(with_comparison=False)["date_range"]
    return await view.post(
        "/query",
        {
            "metrics": ["attributed_net_revenue", "attributed_roas"],
            "dimensions": [_ID_DIMENSIONS[level]],
            "date_range": dates,
            "limit": 1000,
        },
    )


def _describe_ads(
    context: PageContext, state: ViewState, answer: Mapping[str, Any], credited: ApiResult, level: str
) -> dict[str, Any]:
    chosen = dict(state.page_parameters)
    by_id = {row[_ID_DIMENSIONS[level]]: row for row in credited.data.get("rows", [])}
    rows = [row for row in answer["ads"] if _is_below_chosen(row, chosen)]
    return {
        "totals": _build_totals(context.component(Catalog), state, answer),
        "lines": [
            replace(
                _build_ad_line(row, by_id.get(row["id"], {}), state, level, answer["currency"]),
                records=_link_row(context.component(Catalog), state, row, level, answer["currency"]),
            )
            for row in rows
        ],
        "parents": _list_parents(rows, chosen, level, state),
        "accounts": [
            {
                "name": account["account_name"] or account["account_id"] or humanize(account["platform"]),
                "platform": humanize(account["platform"]),
                "status": STATUS_LABELS[account["status"]],
                "error": account["error"],
                "last_synced": format_moment(account["last_synced_at"], state.zone),
            }
            for account in answer["platforms"]
        ],
        "missing": explain_missing_values(context, answer["totals_unavailable"]),
    }


def _is_below_chosen(row: Mapping[str, Any], chosen: Mapping[str, str]) -> bool:
    """Whether a row belongs to the campaign and group in the address; what the address leaves out fits all."""
    return all(chosen.get(name, row[name]) == row[name] for name in ("campaign_id", "group_id"))


def _build_totals(catalog: Catalog, state: ViewState, answer: Mapping[str, Any]) -> list[Number]:
    platform = dict(state.page_parameters).get("platform")
    filters = [("platform", platform)] if platform else []
    return [
        build_number(
            label,
            ValueFormat(unit, answer["currency"]),
            answer["totals"],
            field,
            answer["totals_unavailable"],
            link=receipt_link(catalog, state.for_everybody, _METRICS[field], filters),
        )
        for field, label, unit in _TOTALS
    ]


def _build_ad_line(
    row: Mapping[str, Any], credit: Mapping[str, Any], state: ViewState, level: str, currency: str
) -> AdLine:
    count, own = ValueFormat(), ValueFormat("currency", row["currency"])
    below = _NEXT_LEVEL.get(level)
    return AdLine(
        name=row["name"] or row["id"],
        below=" · ".join(
            part
            for part in (
                humanize(row["platform"]),
                row["account_name"],
                row["status"] and humanize(row["status"]),
            )
            if part
        ),
        link=state.link(level=below[0], **{below[1]: row["id"]}) if below else None,
        spend=own.format_in_full_or_dash(row["spend"]),
        impressions=count.format_in_full_or_dash(row["impressions"]),
        clicks=count.format_in_full_or_dash(row["clicks"]),
        claimed_conversions=ValueFormat("number").format_in_full_or_dash(row["conversions"]),
        claimed_value=own.format_in_full_or_dash(row["conversion_value"]),
        claimed_roas=_MULTIPLE.format_in_full_or_dash(row["roas"]),
        credited_revenue=ValueFormat("currency", currency).format_in_full_or_dash(
            credit.get("attributed_net_revenue")
        ),
        credited_roas=_MULTIPLE.format_in_full_or_dash(credit.get("attributed_roas")),
        records={},
    )


def _link_row(
    catalog: Catalog, state: ViewState, row: Mapping[str, Any], level: str, currency: str
) -> dict[str, str]:
    """Field -> the receipt of its number; receipts are in the currency of the workspace, so money of another one has none."""
    filters = [("platform", row["platform"]), (_ID_DIMENSIONS[level], row["id"])]
    return {
        field: receipt_link(catalog, state.for_everybody, metric, filters)
        for field, metric in (_METRICS | {"roas": "platform_roas"}).items()
        if row["currency"] == currency or catalog.metrics[metric].unit not in _CURRENCY_UNITS
    }


def path_of_ad_entity(dimension: str, id_: str) -> str:
    """Path and query string of the ads of the last 90 days below a campaign or ad group; of an ad, of all ads.

    Args:
        dimension: ``campaign_id``, ``ad_group_id`` or ``ad_id``.
        id_: of the campaign, ad group or ad.
    """
    level = next(level for level, its_id in _ID_DIMENSIONS.items() if its_id == dimension)
    below = _NEXT_LEVEL.get(level)
    chosen = {"level": below[0], below[1]: id_} if below else {"level": level}
    return f"/ads?{urlencode({'range': 'last_90_days', **chosen})}"


def _list_parents(
    rows: list[Mapping[str, Any]], chosen: Mapping[str, str], level: str, state: ViewState
) -> list[tuple[str, str]]:
    """Name and query string of the levels above, from the top."""
    parents = [("All campaigns", state.link(level=None, campaign_id=None, group_id=None))]
    if level == "campaign":
        return []
    first = rows[0] if rows else {}
    if "campaign_id" in chosen:
        name = first.get("campaign_name") or chosen["campaign_id"]
        parents.append((name, state.link(level="group", group_id=None)))
    if "group_id" in chosen:
        parents.append((first.get("group_name") or chosen["group_id"], ""))
    return parents


PAGES: Final = (Page("GET /w/<public_id>/ads", show_ads),)
