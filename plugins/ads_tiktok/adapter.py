"""Reads ad spend from TikTok, page by page. An advertiser is an ad account."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from plugins.ads_tiktok.client import API_URL, TikTokClient, open_client
from plugins.ads_tiktok.connection import CONNECTION
from plugins.ads_tiktok.mapping import (
    daily_report_params,
    entity_listing,
    map_account,
    map_spend_row,
    with_status,
)
from service_core.plugin import (
    AdAccount,
    AdLevel,
    AdPlatformInfo,
    Clock,
    SpendRow,
    platform_http,
    platform_numbers,
    system_clock,
)

_CREDENTIAL_NAMES: Final = ("access_token", "app_id", "secret")
_PAGE_SIZE: Final = 1_000
_ADVERTISERS_PER_REQUEST: Final = 100
"""Advertisers that one question may describe."""


@dataclass(frozen=True, slots=True)
class TikTokAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Business API with its version.
        clock: the present.
    """

    api: str = API_URL
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``tiktok``."""
        return "tiktok"

    @property
    def info(self) -> AdPlatformInfo:
        """Names by which requests and visits refer to TikTok."""
        return AdPlatformInfo(
            aliases=("tiktok_ads",),
            level_names={"adgroup": AdLevel.GROUP},
            traffic_sources=("tt",),
            connection=CONNECTION,
        )

    def with_base_url(self, base_url: str) -> "TikTokAds":
        """Returns an adapter for another version of the API or a proxy."""
        return replace(self, api=base_url)

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """The advertisers that gave the app access.

        Raises:
            PlatformUnavailable: TikTok cannot be read now.
            CredentialsRejected: the credentials are not good.
        """
        platform_http.require_credentials(secrets, _CREDENTIAL_NAMES)
        app = {name: secrets[name] for name in ("app_id", "secret")}
        with platform_numbers.malformed_response_as_unavailable("TikTok"):
            async with open_client(self.api, secrets, self.clock) as client:
                listed = (await client.get_data_or_raise_api_error("oauth2/advertiser/get/", app))["list"]
                ids = [str(advertiser["advertiser_id"]) for advertiser in listed]
                return [
                    map_account(payload) async for payload in _describe_advertisers_in_chunks(client, ids)
                ]

    async def fetch_daily_spend(
        self, account: AdAccount, level: AdLevel, first_day: date, last_day: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformUnavailable: TikTok cannot be read now.
            CredentialsRejected: the credentials are not good, or not for this advertiser.
        """
        platform_http.require_credentials(secrets, _CREDENTIAL_NAMES)
        own, (path, id_name, fields) = {"advertiser_id": account.id}, entity_listing(level)
        now, version = self.clock(), self.api.rpartition("/")[2]
        with platform_numbers.malformed_response_as_unavailable("TikTok"):
            async with open_client(self.api, secrets, self.clock) as client:
                pages = _iterate_rows_of_all_pages(
                    client, "report/integrated/get/", own | daily_report_params(level, first_day, last_day)
                )
                rows = [map_spend_row(payload, account, level, now, version) async for payload in pages]
                if not rows:
                    return []
                entities = _iterate_rows_of_all_pages(client, path, own | fields)
                listed = {str(payload[id_name]): payload async for payload in entities}
        return [with_status(row, listed) for row in rows]


async def _describe_advertisers_in_chunks(
    client: TikTokClient, advertiser_ids: list[str]
) -> AsyncIterator[Mapping[str, Any]]:
    fields = json.dumps(["advertiser_id", "name", "currency", "timezone", "display_timezone"])
    for start in range(0, len(advertiser_ids), _ADVERTISERS_PER_REQUEST):
        chunk = json.dumps(advertiser_ids[start : start + _ADVERTISERS_PER_REQUEST])
        answer = await client.get_data_or_raise_api_error(
            "advertiser/info/", {"advertiser_ids": chunk, "fields": fields}
        )
        for advertiser in answer["list"]:
            yield advertiser


async def _iterate_rows_of_all_pages(
    client: TikTokClient, path: str, params: Mapping[str, str]
) -> AsyncIterator[Mapping[str, Any]]:
    """Yields the rows of all pages of a report or a list."""
    page, pages = 1, 1
    while page <= pages:
        page_params = {**params, "page": str(page), "page_size": str(_PAGE_SIZE)}
        answer = await client.get_data_or_raise_api_error(path, page_params)
        for row in answer["list"]:
            yield row
        page, pages = page + 1, int(answer["page_info"]["total_page"])
