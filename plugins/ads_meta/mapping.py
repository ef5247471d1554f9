"""Rows of the Insights API as rows of spend."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, AdEntity, AdLevel, SpendRow, platform_numbers

_LEVELS: Final = {AdLevel.CAMPAIGN: "campaign", AdLevel.GROUP: "adset", AdLevel.AD: "ad"}
_STATUS: Final = "effective_status"
STATUS_FIELDS: Final = f"id,{_STATUS}"
"""The fields that tell how an entity stands: reports do not."""
_FIGURES: Final = (
    "spend", "impressions", "clicks", "reach", "actions", "action_values", "attribution_setting",
)  # fmt: skip
_PURCHASES: Final = ("omni_purchase", "purchase")
"""Kinds of action that count as conversions, the first there is: of every channel, or of the pixel."""


def platform_level(level: AdLevel) -> str:
    """Returns the name of a level at Meta."""
    return _LEVELS[level]


def entity_edge(level: AdLevel) -> str:
    """Returns the edge of the Graph API that lists the entities of a level."""
    return f"{_LEVELS[level]}s"


def report_fields(level: AdLevel) -> list[str]:
    """The fields to ask for: ids and names down to the level, and figures."""
    named = list(_LEVELS.values())[: list(AdLevel).index(level) + 1]
    return [*(f"{name}_{part}" for name in named for part in ("id", "name")), *_FIGURES]


def map_account(payload: Mapping[str, Any]) -> AdAccount:
    """An ad account.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    return AdAccount(payload["id"], payload.get("name"), payload["currency"], payload["timezone_name"])


def map_spend_row(
    payload: Mapping[str, Any], account: AdAccount, level: AdLevel, fetched_at: datetime, report_version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what Meta documents.
    """
    purchases, value = payload.get("actions"), payload.get("action_values")
    return SpendRow(
        platform="meta",
        account_id=account.id,
        entity=_map_entity(payload, level),
        day=date.fromisoformat(payload["date_start"]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=fetched_at,
        spend=platform_numbers.parse_reported_amount_to_minor_units(payload.get("spend"), account.currency),
        impressions=platform_numbers.parse_reported_count(payload.get("impressions")),
        clicks=platform_numbers.parse_reported_count(payload.get("clicks")),
        reach=platform_numbers.parse_reported_count(payload.get("reach")),
        conversions=None
        if purchases is None
        else platform_numbers.parse_reported_float(_purchase_value_or_zero(purchases)),
        conversion_value=None
        if value is None
        else platform_numbers.parse_reported_amount_to_minor_units(
            _purchase_value_or_zero(value), account.currency
        ),
        attribution_setting=payload.get("attribution_setting") or "",
        report_version=report_version,
    )


def with_status(row: SpendRow, listed: Mapping[str, Mapping[str, Any]]) -> SpendRow:
    """A row whose entity stands as it is listed; one that is archived or deleted is not, and its status is None."""
    status = listed.get(row.entity.id, {}).get(_STATUS)
    return replace(row, entity=replace(row.entity, status=status))


def _map_entity(payload: Mapping[str, Any], level: AdLevel) -> AdEntity:
    own = report_fields(level)
    names = {
        field: payload.get(platform_field)
        for field, platform_field in (
            ("campaign_name", "campaign_name"),
            ("group_id", "adset_id"),
            ("group_name", "adset_name"),
            ("ad_id", "ad_id"),
            ("ad_name", "ad_name"),
        )
        if platform_field in own
    }
    if payload.get(f"{_LEVELS[level]}_id") is None:
        raise KeyError(f"{_LEVELS[level]}_id")
    return AdEntity(level, payload["campaign_id"], **names)


def _purchase_value_or_zero(actions: Sequence[Mapping[str, Any]]) -> Any:
    """Returns the value of the purchases in a list of actions; ``"0"`` if the list has none."""
    by_kind = {action["action_type"]: action["value"] for action in actions}
    return next((by_kind[kind] for kind in _PURCHASES if kind in by_kind), "0")
