"""Rows of the Insights API as rows of spend."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, Entity, Level, SpendRow, ad_figures

_LEVELS: Final = {Level.CAMPAIGN: "campaign", Level.GROUP: "adset", Level.AD: "ad"}
_STATUS: Final = "effective_status"
STATUS_FIELDS: Final = f"id,{_STATUS}"
"""The fields that tell how an entity stands: reports do not."""
_FIGURES: Final = (
    "spend", "impressions", "clicks", "reach", "actions", "action_values", "attribution_setting",
)  # fmt: skip
_PURCHASES: Final = ("omni_purchase", "purchase")
"""Kinds of action that count as conversions, the first there is: of every channel, or of the pixel."""


def level_of(level: Level) -> str:
    """What Meta calls a level."""
    return _LEVELS[level]


def edge_of(level: Level) -> str:
    """Where Meta lists the entities of a level."""
    return f"{_LEVELS[level]}s"


def fields_of(level: Level) -> list[str]:
    """The fields to ask for: ids and names down to the level, and figures."""
    named = list(_LEVELS.values())[: list(Level).index(level) + 1]
    return [*(f"{name}_{part}" for name in named for part in ("id", "name")), *_FIGURES]


def account_of(told: Mapping[str, Any]) -> AdAccount:
    """An ad account.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    return AdAccount(told["id"], told.get("name"), told["currency"], told["timezone_name"])


def row_of(
    told: Mapping[str, Any], account: AdAccount, level: Level, now: datetime, version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what Meta documents.
    """
    purchases, value = told.get("actions"), told.get("action_values")
    return SpendRow(
        platform="meta",
        account_id=account.id,
        entity=_entity_of(told, level),
        day=date.fromisoformat(told["date_start"]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=now,
        spend=ad_figures.money(told.get("spend"), account.currency),
        impressions=ad_figures.count(told.get("impressions")),
        clicks=ad_figures.count(told.get("clicks")),
        reach=ad_figures.count(told.get("reach")),
        conversions=None if purchases is None else ad_figures.fraction(_purchases(purchases)),
        conversion_value=None if value is None else ad_figures.money(_purchases(value), account.currency),
        attribution_setting=told.get("attribution_setting") or "",
        report_version=version,
    )


def with_status(row: SpendRow, listed: Mapping[str, Mapping[str, Any]]) -> SpendRow:
    """A row whose entity stands as it is listed; one that is archived or deleted is not, and its status is None."""
    status = listed.get(row.entity.id, {}).get(_STATUS)
    return replace(row, entity=replace(row.entity, status=status))


def _entity_of(told: Mapping[str, Any], level: Level) -> Entity:
    own = fields_of(level)
    names = {
        ours: told.get(theirs)
        for ours, theirs in (
            ("campaign_name", "campaign_name"),
            ("group_id", "adset_id"),
            ("group_name", "adset_name"),
            ("ad_id", "ad_id"),
            ("ad_name", "ad_name"),
        )
        if theirs in own
    }
    if told.get(f"{_LEVELS[level]}_id") is None:
        raise KeyError(f"{_LEVELS[level]}_id")
    return Entity(level, told["campaign_id"], **names)


def _purchases(actions: Sequence[Mapping[str, Any]]) -> Any:
    """What a list of actions says of purchases; a list without any says there was none."""
    by_kind = {one["action_type"]: one["value"] for one in actions}
    return next((by_kind[kind] for kind in _PURCHASES if kind in by_kind), "0")
