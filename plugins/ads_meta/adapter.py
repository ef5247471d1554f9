"""Reads ad spend from Meta, page by page."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from plugins.ads_meta.client import API_URL, MetaClient, open_client
from plugins.ads_meta.connection import CONNECTION
from plugins.ads_meta.mapping import (
    STATUS_FIELDS,
    entity_edge,
    map_account,
    map_spend_row,
    platform_level,
    report_fields,
    with_status,
)
from service_core.plugin import (
    AdAccount,
    AdLevel,
    AdPlatformInfo,
    Clock,
    SpendRow,
    platform_numbers,
    system_clock,
)

_PAGE_SIZE: Final = 500


@dataclass(frozen=True, slots=True)
class MetaAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Graph API with its version.
        clock: the present.
    """

    api: str = API_URL
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``meta``."""
        return "meta"

    @property
    def info(self) -> AdPlatformInfo:
        """Names by which requests and visits refer to Meta."""
        return AdPlatformInfo(
            aliases=("facebook",),
            level_names={"adset": AdLevel.GROUP},
            traffic_sources=("facebook", "fb", "instagram", "ig"),
            connection=CONNECTION,
        )

    def with_base_url(self, base_url: str) -> "MetaAds":
        """Returns an adapter for another version of the API or a proxy."""
        return replace(self, api=base_url)

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """Returns the ad accounts that the token can access.

        Raises:
            PlatformUnavailable: Meta cannot be read now.
            CredentialsRejected: the token is not good.
        """
        fields = "id,name,currency,timezone_name"
        with platform_numbers.malformed_response_as_unavailable("Meta"):
            async with open_client(self.api, secrets, self.clock) as client:
                return [
                    map_account(payload)
                    async for payload in _iterate_rows_of_all_pages(
                        client, "me/adaccounts", {"fields": fields}
                    )
                ]

    async def fetch_daily_spend(
        self, account: AdAccount, level: AdLevel, first_day: date, last_day: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformUnavailable: Meta cannot be read now.
            CredentialsRejected: the token is not good, or not for this account.
        """
        params = {
            "level": platform_level(level),
            "time_increment": "1",
            "time_range": json.dumps({"since": f"{first_day}", "until": f"{last_day}"}),
            "fields": ",".join(report_fields(level)),
            "use_unified_attribution_setting": "true",
        }
        now, version = self.clock(), self.api.rpartition("/")[2]
        with platform_numbers.malformed_response_as_unavailable("Meta"):
            async with open_client(self.api, secrets, self.clock) as client:
                pages = _iterate_rows_of_all_pages(client, f"{account.id}/insights", params)
                rows = [map_spend_row(payload, account, level, now, version) async for payload in pages]
                if not rows:
                    return []
                entities = _iterate_rows_of_all_pages(
                    client, f"{account.id}/{entity_edge(level)}", {"fields": STATUS_FIELDS}
                )
                listed = {payload["id"]: payload async for payload in entities}
        return [with_status(row, listed) for row in rows]


async def _iterate_rows_of_all_pages(
    client: MetaClient, path: str, params: Mapping[str, str]
) -> AsyncIterator[Mapping[str, Any]]:
    """Yields the rows of all pages of an edge."""
    after: str | None = None
    while True:
        page_params = {**params, "after": after} if after else params
        answer = await client.get_page_halving_size_if_too_large(path, page_params, _PAGE_SIZE)
        for row in answer.get("data") or ():
            yield row
        paging = answer.get("paging") or {}
        after = (paging.get("cursors") or {}).get("after")
        if not after or "next" not in paging:
            return
