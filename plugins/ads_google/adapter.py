"""What Google Ads reports, asked in its query language; an answer comes whole, in pieces of one stream."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from plugins.ads_google.client import API, MANAGER, TOKENS, digits, opened
from plugins.ads_google.mapping import CLIENTS, OWN, account_of, report, row_of
from service_core.plugin import (
    AdAccount,
    Clock,
    Level,
    SpendRow,
    ad_figures,
    system_clock,
)


@dataclass(frozen=True, slots=True)
class GoogleAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Google Ads API with its version.
        tokens: address where a refresh token is turned into an access token.
        clock: the present.
    """

    api: str = API
    tokens: str = TOKENS
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``google``."""
        return "google"

    def at(self, address: str) -> "GoogleAds":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)

    async def accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """The accounts below the manager account, or those the person may open; managers have no ads.

        Raises:
            PlatformDown: Google cannot be read now.
            PlatformRefused: the credentials are not good.
        """
        manager = digits(secrets.get(MANAGER))
        with ad_figures.of_known_shape("Google Ads"):
            async with opened(self.api, self.tokens, secrets, self.clock) as client:
                if manager:
                    below = await client.search(manager, CLIENTS)
                    return [account_of(one["customerClient"]) for one in below]
                found = [await client.search_open(own, OWN) for own in await client.accessible()]
                told = [one["customer"] for rows in found for one in rows]
                return [account_of(one) for one in told if not one.get("manager")]

    async def spend(
        self, account: AdAccount, level: Level, first: date, last: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformDown: Google cannot be read now.
            PlatformRefused: the credentials are not good, or not for this account.
        """
        now, version = self.clock(), self.api.rpartition("/")[2]
        with ad_figures.of_known_shape("Google Ads"):
            async with opened(self.api, self.tokens, secrets, self.clock) as client:
                told = await client.search(account.id, report(level, first, last))
            return [row_of(one, account, level, now, version) for one in told]
