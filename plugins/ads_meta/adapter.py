"""What Meta reports, asked in its words: one question per page, followed to the last."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from plugins.ads_meta.client import API, MetaClient, opened
from plugins.ads_meta.mapping import (
    STATUS_FIELDS,
    account_of,
    edge_of,
    fields_of,
    level_of,
    row_of,
    with_status,
)
from service_core.plugin import (
    AdAccount,
    Clock,
    Level,
    SpendRow,
    ad_figures,
    system_clock,
)

_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class MetaAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Graph API with its version.
        clock: the present.
    """

    api: str = API
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``meta``."""
        return "meta"

    def at(self, address: str) -> "MetaAds":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)

    async def accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """The ad accounts of whoever the token is of.

        Raises:
            PlatformDown: Meta cannot be read now.
            PlatformRefused: the token is not good.
        """
        fields = "id,name,currency,timezone_name"
        with ad_figures.of_known_shape("Meta"):
            async with opened(self.api, secrets, self.clock) as client:
                return [
                    account_of(told) async for told in _pages(client, "me/adaccounts", {"fields": fields})
                ]

    async def spend(
        self, account: AdAccount, level: Level, first: date, last: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformDown: Meta cannot be read now.
            PlatformRefused: the token is not good, or not for this account.
        """
        question = {
            "level": level_of(level),
            "time_increment": "1",
            "time_range": json.dumps({"since": f"{first}", "until": f"{last}"}),
            "fields": ",".join(fields_of(level)),
            "use_unified_attribution_setting": "true",
        }
        now, version = self.clock(), self.api.rpartition("/")[2]
        with ad_figures.of_known_shape("Meta"):
            async with opened(self.api, secrets, self.clock) as client:
                pages = _pages(client, f"{account.id}/insights", question)
                rows = [row_of(told, account, level, now, version) async for told in pages]
                if not rows:
                    return []
                entities = _pages(client, f"{account.id}/{edge_of(level)}", {"fields": STATUS_FIELDS})
                listed = {told["id"]: told async for told in entities}
        return [with_status(row, listed) for row in rows]


async def _pages(
    client: MetaClient, path: str, question: Mapping[str, str]
) -> AsyncIterator[Mapping[str, Any]]:
    """Everything an edge holds, page after page."""
    after: str | None = None
    while True:
        turned = {**question, "after": after} if after else question
        answer = await client.page(path, turned, _PAGE)
        for told in answer.get("data") or ():
            yield told
        paging = answer.get("paging") or {}
        after = (paging.get("cursors") or {}).get("after")
        if not after or "next" not in paging:
            return
