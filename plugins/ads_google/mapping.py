"""Queries in the query language of Google Ads, and its rows as ad spend."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, AdEntity, AdLevel, SpendRow, platform_numbers

_ACCOUNT: Final = ("id", "descriptive_name", "currency_code", "time_zone", "manager")


def _account_query(resource: str, where: str = "") -> str:
    fields = ", ".join(f"{resource}.{name}" for name in _ACCOUNT)
    return f"SELECT {fields} FROM {resource}{where}"  # noqa: S608 - only names from this module


ACCOUNT_QUERY: Final = _account_query("customer")
"""Asks an account what it is."""
CLIENT_ACCOUNTS_QUERY: Final = _account_query(
    "customer_client", " WHERE customer_client.manager = FALSE AND customer_client.status = 'ENABLED'"
)
"""Asks a manager account which accounts are below it, at any depth."""

_CAMPAIGN: Final = ("campaign.id", "campaign.name", "campaign.status")
_GROUP: Final = ("ad_group.id", "ad_group.name", "ad_group.status")
_AD: Final = ("ad_group_ad.ad.id", "ad_group_ad.ad.name", "ad_group_ad.status")
_FIGURES: Final = (
    "segments.date", "metrics.cost_micros", "metrics.impressions", "metrics.clicks", "metrics.conversions",
    "metrics.conversions_value",
)  # fmt: skip
_REPORTS: Final = {
    AdLevel.CAMPAIGN: ("campaign", _CAMPAIGN),
    AdLevel.GROUP: ("ad_group", (*_CAMPAIGN, *_GROUP)),
    AdLevel.AD: ("ad_group_ad", (*_CAMPAIGN, *_GROUP, *_AD)),
}


def daily_spend_query(level: AdLevel, first_day: date, last_day: date) -> str:
    """Asks for every row of a level, a row a day; rows without delivery are left out by Google."""
    resource, named = _REPORTS[level]
    days = f"segments.date BETWEEN '{first_day}' AND '{last_day}'"
    return f"SELECT {', '.join((*named, *_FIGURES))} FROM {resource} WHERE {days}"  # noqa: S608 - only names from this module


def map_account(payload: Mapping[str, Any]) -> AdAccount:
    """An ad account.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    return AdAccount(
        str(payload["id"]), payload.get("descriptiveName"), payload["currencyCode"], payload["timeZone"]
    )


def map_spend_row(
    payload: Mapping[str, Any], account: AdAccount, level: AdLevel, fetched_at: datetime, report_version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what Google documents.
    """
    metrics = payload.get("metrics") or {}
    return SpendRow(
        platform="google",
        account_id=account.id,
        entity=_map_entity(payload, level),
        day=date.fromisoformat(payload["segments"]["date"]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=fetched_at,
        spend=platform_numbers.parse_reported_micros_to_minor_units(
            metrics.get("costMicros"), account.currency
        ),
        impressions=platform_numbers.parse_reported_count(metrics.get("impressions")),
        clicks=platform_numbers.parse_reported_count(metrics.get("clicks")),
        conversions=platform_numbers.parse_reported_float(metrics.get("conversions")),
        conversion_value=platform_numbers.parse_reported_amount_to_minor_units(
            metrics.get("conversionsValue"), account.currency
        ),
        report_version=report_version,
    )


def _map_entity(payload: Mapping[str, Any], level: AdLevel) -> AdEntity:
    campaign = payload["campaign"]
    named: dict[str, Any] = {"campaign_name": campaign.get("name"), "status": campaign.get("status")}
    if level is not AdLevel.CAMPAIGN:
        group = payload["adGroup"]
        named |= {
            "group_id": str(group["id"]),
            "group_name": group.get("name"),
            "status": group.get("status"),
        }
    if level is AdLevel.AD:
        held, ad = payload["adGroupAd"], payload["adGroupAd"]["ad"]
        named |= {"ad_id": str(ad["id"]), "ad_name": ad.get("name") or None, "status": held.get("status")}
    return AdEntity(level, str(campaign["id"]), **named)
