"""Reports of the Business API as rows of spend."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, AdEntity, AdLevel, SpendRow, platform_numbers

_LEVELS: Final = {
    AdLevel.CAMPAIGN: ("AUCTION_CAMPAIGN", "campaign_id", ("campaign_name",)),
    AdLevel.GROUP: ("AUCTION_ADGROUP", "adgroup_id", ("campaign_id", "campaign_name", "adgroup_name")),
    AdLevel.AD: (
        "AUCTION_AD",
        "ad_id",
        ("campaign_id", "campaign_name", "adgroup_id", "adgroup_name", "ad_name"),
    ),
}
"""Level -> its name at TikTok, the dimension of its rows, and the metrics that name it and its parents."""
_FIGURES: Final = (
    "spend", "impressions", "clicks", "reach", "complete_payment", "total_complete_payment_rate",
)  # fmt: skip
_STATUS: Final = "operation_status"
_DATE_LENGTH: Final = 10


def daily_report_params(level: AdLevel, first_day: date, last_day: date) -> dict[str, str]:
    """The question for every row of a level, a row a day."""
    data_level, dimension, entity_metrics = _LEVELS[level]
    return {
        "report_type": "BASIC",
        "service_type": "AUCTION",
        "data_level": data_level,
        "dimensions": json.dumps([dimension, "stat_time_day"]),
        "metrics": json.dumps([*entity_metrics, *_FIGURES]),
        "start_date": f"{first_day}",
        "end_date": f"{last_day}",
    }


def entity_listing(level: AdLevel) -> tuple[str, str, dict[str, str]]:
    """Returns path, id field and parameters of the list of a level's entities at TikTok."""
    _, dimension, _ = _LEVELS[level]
    fields = json.dumps([dimension, _STATUS])
    return f"{dimension.removesuffix('_id')}/get/", dimension, {"fields": fields}


def map_account(payload: Mapping[str, Any]) -> AdAccount:
    """An advertiser, in the zone it sees its days in.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    zone = payload.get("display_timezone") or payload["timezone"]
    return AdAccount(str(payload["advertiser_id"]), payload.get("name"), payload["currency"], zone)


def map_spend_row(
    payload: Mapping[str, Any], account: AdAccount, level: AdLevel, fetched_at: datetime, report_version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what TikTok documents.
    """
    metrics, dimensions = payload["metrics"], payload["dimensions"]
    return SpendRow(
        platform="tiktok",
        account_id=account.id,
        entity=_map_entity({**metrics, **dimensions}, level),
        day=date.fromisoformat(dimensions["stat_time_day"][:_DATE_LENGTH]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=fetched_at,
        spend=platform_numbers.parse_reported_amount_to_minor_units(metrics.get("spend"), account.currency),
        impressions=platform_numbers.parse_reported_count(metrics.get("impressions")),
        clicks=platform_numbers.parse_reported_count(metrics.get("clicks")),
        reach=platform_numbers.parse_reported_count(metrics.get("reach")),
        conversions=platform_numbers.parse_reported_float(metrics.get("complete_payment")),
        conversion_value=platform_numbers.parse_reported_amount_to_minor_units(
            metrics.get("total_complete_payment_rate"), account.currency
        ),
        report_version=report_version,
    )


def with_status(row: SpendRow, listed: Mapping[str, Mapping[str, Any]]) -> SpendRow:
    """A row whose entity stands as it is listed; one that is deleted is not, and its status is None."""
    status = listed.get(row.entity.id, {}).get(_STATUS)
    return replace(row, entity=replace(row.entity, status=status))


def _map_entity(payload: Mapping[str, Any], level: AdLevel) -> AdEntity:
    named: dict[str, Any] = {"campaign_name": payload.get("campaign_name")}
    if level is not AdLevel.CAMPAIGN:
        named |= {"group_id": str(payload["adgroup_id"]), "group_name": payload.get("adgroup_name")}
    if level is AdLevel.AD:
        named |= {"ad_id": str(payload["ad_id"]), "ad_name": payload.get("ad_name")}
    return AdEntity(level, str(payload["campaign_id"]), **named)
