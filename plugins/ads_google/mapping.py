"""Questions in the query language of Google Ads, and its rows as rows of spend."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import AdAccount, Entity, Level, SpendRow, ad_figures

_ACCOUNT: Final = ("id", "descriptive_name", "currency_code", "time_zone", "manager")


def _account_query(resource: str, where: str = "") -> str:
    fields = ", ".join(f"{resource}.{name}" for name in _ACCOUNT)
    return f"SELECT {fields} FROM {resource}{where}"  # noqa: S608 - words of ours alone


OWN: Final = _account_query("customer")
"""Asks an account what it is."""
CLIENTS: Final = _account_query(
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
    Level.CAMPAIGN: ("campaign", _CAMPAIGN),
    Level.GROUP: ("ad_group", (*_CAMPAIGN, *_GROUP)),
    Level.AD: ("ad_group_ad", (*_CAMPAIGN, *_GROUP, *_AD)),
}


def report(level: Level, first: date, last: date) -> str:
    """Asks for every row of a level, a row a day; rows without delivery are left out by Google."""
    resource, named = _REPORTS[level]
    days = f"segments.date BETWEEN '{first}' AND '{last}'"
    return f"SELECT {', '.join((*named, *_FIGURES))} FROM {resource} WHERE {days}"  # noqa: S608 - words of ours alone


def account_of(told: Mapping[str, Any]) -> AdAccount:
    """An ad account.

    Raises:
        KeyError: it has no id, currency or time zone.
    """
    return AdAccount(str(told["id"]), told.get("descriptiveName"), told["currencyCode"], told["timeZone"])


def row_of(
    told: Mapping[str, Any], account: AdAccount, level: Level, now: datetime, version: str
) -> SpendRow:
    """A row of one day; what it leaves out is None.

    Raises:
        LookupError, TypeError, ValueError: it is not what Google documents.
    """
    metrics = told.get("metrics") or {}
    return SpendRow(
        platform="google",
        account_id=account.id,
        entity=_entity_of(told, level),
        day=date.fromisoformat(told["segments"]["date"]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=now,
        spend=ad_figures.micros(metrics.get("costMicros"), account.currency),
        impressions=ad_figures.count(metrics.get("impressions")),
        clicks=ad_figures.count(metrics.get("clicks")),
        conversions=ad_figures.fraction(metrics.get("conversions")),
        conversion_value=ad_figures.money(metrics.get("conversionsValue"), account.currency),
        report_version=version,
    )


def _entity_of(told: Mapping[str, Any], level: Level) -> Entity:
    campaign = told["campaign"]
    named: dict[str, Any] = {"campaign_name": campaign.get("name"), "status": campaign.get("status")}
    if level is not Level.CAMPAIGN:
        group = told["adGroup"]
        named |= {
            "group_id": str(group["id"]),
            "group_name": group.get("name"),
            "status": group.get("status"),
        }
    if level is Level.AD:
        held, ad = told["adGroupAd"], told["adGroupAd"]["ad"]
        named |= {"ad_id": str(ad["id"]), "ad_name": ad.get("name") or None, "status": held.get("status")}
    return Entity(level, str(campaign["id"]), **named)
