"""Ad accounts of the example shop: an ad platform that invents its spend and asks nobody."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Final

from hosts.demo.shop.catalog import ADS, CURRENCY, Ad
from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, AdPlatformInfo, SpendRow
from service_core.commerce.ads.ports import AdPlatform

PLATFORMS: Final = tuple(dict.fromkeys(ad.platform for ad in ADS))
_CLAIMED_PER_CLICK: Final = 0.16
_CLAIMED_VALUE: Final = 4_300
"""Conversions that a platform claims for each click, and their value in minor units."""
_DAILY_CLICKS: Final = 7.5
"""Clicks a day that the ads of the shop have together, per visit they bring."""


@dataclass(frozen=True, slots=True)
class ExampleAdPlatform:
    """An `AdPlatform` with the id of an installed one; its figures follow from the day and the ad.

    Attributes:
        installed: the platform whose place it takes.
        fetched_at: time of the reading.
    """

    installed: AdPlatform
    fetched_at: datetime

    @property
    def id(self) -> str:
        """Id of the installed platform."""
        return self.installed.id

    @property
    def info(self) -> AdPlatformInfo:
        """Properties of the installed platform."""
        return self.installed.info

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> Sequence[AdAccount]:  # noqa: ARG002 - the port passes them
        """Returns the account of the shop."""
        return (account_of_platform(self.id),)

    async def fetch_daily_spend(
        self,
        account: AdAccount,
        level: AdLevel,
        first_day: date,
        last_day: date,
        secrets: Mapping[str, str],  # noqa: ARG002 - the port passes them
    ) -> Sequence[SpendRow]:
        """Returns a row for each entity of the level and each day."""
        days = (last_day - first_day).days + 1
        return [
            row
            for number in range(days)
            for row in self._rows_of_day(account, level, first_day + timedelta(days=number))
        ]

    def _rows_of_day(self, account: AdAccount, level: AdLevel, day: date) -> Iterator[SpendRow]:
        """Yields the rows of a day; those of a campaign and a group are the sums of their ads."""
        figures: dict[AdEntity, list[int]] = {}
        for ad in ADS:
            if ad.platform == self.id:
                sums = figures.setdefault(_entity_of_ad(ad, level), [0, 0, 0])
                for index, figure in enumerate(_figures_of_ad(ad, day, self.fetched_at)):
                    sums[index] += figure
        for entity, (clicks, impressions, spend) in figures.items():
            yield SpendRow(
                platform=self.id,
                account_id=account.id,
                entity=entity,
                day=day,
                currency=account.currency,
                account_zone=account.timezone,
                fetched_at=self.fetched_at,
                spend=spend,
                impressions=impressions,
                clicks=clicks,
                conversions=round(clicks * _CLAIMED_PER_CLICK, 2),
                conversion_value=round(clicks * _CLAIMED_PER_CLICK * _CLAIMED_VALUE),
            )


def account_of_platform(platform: str) -> AdAccount:
    """Returns the ad account that the shop has at a platform."""
    return AdAccount(f"{platform}-demo", "Example Shop", CURRENCY, "UTC")


def _entity_of_ad(ad: Ad, level: AdLevel) -> AdEntity:
    campaign = {"campaign_id": ad.campaign[0], "campaign_name": ad.campaign[1]}
    group = {"group_id": ad.group[0], "group_name": ad.group[1]}
    names = {"ad_id": ad.ad[0], "ad_name": ad.ad[1]}
    below = {AdLevel.CAMPAIGN: {}, AdLevel.GROUP: group, AdLevel.AD: group | names}[level]
    return AdEntity(level, **campaign, **below, status="active")


def _figures_of_ad(ad: Ad, day: date, now: datetime) -> tuple[int, int, int]:
    """Returns clicks, impressions and spend of an ad on a day; of today the share that has passed."""
    random = Random(f"{ad.ad[0]}:{day}")  # noqa: S311 - invented figures, no secret
    passed = (now - datetime(day.year, day.month, day.day, tzinfo=UTC)) / timedelta(days=1)
    share = min(1.0, max(0.0, passed))
    clicks = round(
        _DAILY_CLICKS * ad.weight / sum(one.weight for one in ADS) * random.uniform(0.7, 1.3) * share
    )
    return clicks, round(clicks / ad.click_rate), round(clicks * ad.cost_per_click * random.uniform(0.9, 1.1))
