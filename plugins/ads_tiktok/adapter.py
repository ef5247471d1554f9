"""What TikTok reports, page by page; an advertiser of theirs is an ad account here."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from plugins.ads_tiktok.client import API, TikTokClient, opened
from plugins.ads_tiktok.mapping import account_of, listing, report, row_of, with_status
from service_core.plugin import (
    AdAccount,
    Clock,
    Level,
    SpendRow,
    ad_figures,
    platform_calls,
    system_clock,
)

_NEEDED: Final = ("access_token", "app_id", "secret")
_PAGE: Final = 1_000
_ADVERTISERS: Final = 100
"""Advertisers that one question may describe."""


@dataclass(frozen=True, slots=True)
class TikTokAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Business API with its version.
        clock: the present.
    """

    api: str = API
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``tiktok``."""
        return "tiktok"

    def at(self, address: str) -> "TikTokAds":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)

    async def accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """The advertisers that gave the app access.

        Raises:
            PlatformDown: TikTok cannot be read now.
            PlatformRefused: the credentials are not good.
        """
        platform_calls.require(secrets, _NEEDED)
        app = {name: secrets[name] for name in ("app_id", "secret")}
        with ad_figures.of_known_shape("TikTok"):
            async with opened(self.api, secrets, self.clock) as client:
                listed = (await client.get("oauth2/advertiser/get/", app))["list"]
                ids = [str(one["advertiser_id"]) for one in listed]
                return [account_of(told) async for told in _described(client, ids)]

    async def spend(
        self, account: AdAccount, level: Level, first: date, last: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformDown: TikTok cannot be read now.
            PlatformRefused: the credentials are not good, or not for this advertiser.
        """
        platform_calls.require(secrets, _NEEDED)
        own, (path, id_name, fields) = {"advertiser_id": account.id}, listing(level)
        now, version = self.clock(), self.api.rpartition("/")[2]
        with ad_figures.of_known_shape("TikTok"):
            async with opened(self.api, secrets, self.clock) as client:
                pages = _pages(client, "report/integrated/get/", own | report(level, first, last))
                rows = [row_of(told, account, level, now, version) async for told in pages]
                if not rows:
                    return []
                entities = _pages(client, path, own | fields)
                listed = {str(told[id_name]): told async for told in entities}
        return [with_status(row, listed) for row in rows]


async def _described(client: TikTokClient, ids: list[str]) -> AsyncIterator[Mapping[str, Any]]:
    fields = json.dumps(["advertiser_id", "name", "currency", "timezone", "display_timezone"])
    for start in range(0, len(ids), _ADVERTISERS):
        some = json.dumps(ids[start : start + _ADVERTISERS])
        answer = await client.get("advertiser/info/", {"advertiser_ids": some, "fields": fields})
        for told in answer["list"]:
            yield told


async def _pages(
    client: TikTokClient, path: str, question: Mapping[str, str]
) -> AsyncIterator[Mapping[str, Any]]:
    """Everything a report or a list holds, page after page."""
    page, pages = 1, 1
    while page <= pages:
        turned = {**question, "page": str(page), "page_size": str(_PAGE)}
        answer = await client.get(path, turned)
        for told in answer["list"]:
            yield told
        page, pages = page + 1, int(answer["page_info"]["total_page"])
