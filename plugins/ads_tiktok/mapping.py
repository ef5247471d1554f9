"""Reports of the Business API as rows of spend."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, Entity, Level, SpendRow, ad_figures

_LEVELS: Final = {
    Level.CAMPAIGN: ("AUCTION_CAMPAIGN", "campaign_id", ("campaign_name",)),
    Level.GROUP: ("AUCTION_ADGROUP", "adgroup_id", ("campaign_id", "campaign_name", "adgroup_name")),
    Level.AD: (
        "AUCTION_AD",
        "ad_id",
        ("campaign_id", "campaign_name", "adgroup_id", "adgroup_name", "ad_name"),
    ),
}
"""Level -> what TikTok calls it, the dimension its rows are told by, and what metrics tell of it and of those above."""
_FIGURES: Final = (
    "spend", "impressions", "clicks", "reach", "complete_payment", "total_complete_payment_rate",
)  # fmt: skip
_STATUS: Final = "operation_status"
_DAY_LETTERS: Final = 10


def report(level: Level, first: date, last: date) -> dict[str, str]:
    """The question for every row of a level, a row a day."""
    data_level, dimension, told = _LEVELS[level]
    return {
        "report_type": "BASIC",
        "service_type": "AUCTION",
        "data_level": data_level,
        "dimensions": json.dumps([dimension, "stat_time_day"]),
        "metrics": json.dumps([*told, *_FIGURES]),
        "start_date": f"{first}",
        "end_date": f"{last}",
    }


def listing(level: Level) -> tuple[str, str, dict[str, str]]:
    """Where TikTok lists the entities of a level, what it calls their id, and the question for how each stands."""
    _, dimension, _ = _LEVELS[level]
    fields = json.dumps([dimension, _STATUS])
    return f"{dimension.removesuffix('_id')}/get/", dimension, {"fields": fields}


def account_of(told: Mapping[str, Any]) -> AdAccount:
    """An advertiser, in the zone it sees its days in.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    zone = told.get("display_timezone") or told["timezone"]
    return AdAccount(str(told["advertiser_id"]), told.get("name"), told["currency"], zone)


def row_of(
    told: Mapping[str, Any], account: AdAccount, level: Level, now: datetime, version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what TikTok documents.
    """
    metrics, dimensions = told["metrics"], told["dimensions"]
    return SpendRow(
        platform="tiktok",
        account_id=account.id,
        entity=_entity_of({**metrics, **dimensions}, level),
        day=date.fromisoformat(dimensions["stat_time_day"][:_DAY_LETTERS]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=now,
        spend=ad_figures.money(metrics.get("spend"), account.currency),
        impressions=ad_figures.count(metrics.get("impressions")),
        clicks=ad_figures.count(metrics.get("clicks")),
        reach=ad_figures.count(metrics.get("reach")),
        conversions=ad_figures.fraction(metrics.get("complete_payment")),
        conversion_value=ad_figures.money(metrics.get("total_complete_payment_rate"), account.currency),
        report_version=version,
    )


def with_status(row: SpendRow, listed: Mapping[str, Mapping[str, Any]]) -> SpendRow:
    """A row whose entity stands as it is listed; one that is deleted is not, and its status is None."""
    status = listed.get(row.entity.id, {}).get(_STATUS)
    return replace(row, entity=replace(row.entity, status=status))


def _entity_of(told: Mapping[str, Any], level: Level) -> Entity:
    named: dict[str, Any] = {"campaign_name": told.get("campaign_name")}
    if level is not Level.CAMPAIGN:
        named |= {"group_id": str(told["adgroup_id"]), "group_name": told.get("adgroup_name")}
    if level is Level.AD:
        named |= {"ad_id": str(told["ad_id"]), "ad_name": told.get("ad_name")}
    return Entity(level, str(told["campaign_id"]), **named)
