"""Reads ad spend from Google Ads with its query language."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from plugins.ads_google.client import API_URL, MANAGER, TOKEN_URL, open_client, strip_dashes
from plugins.ads_google.mapping import (
    ACCOUNT_QUERY,
    CLIENT_ACCOUNTS_QUERY,
    map_account,
    map_spend_row,
    spend_query,
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


@dataclass(frozen=True, slots=True)
class GoogleAds:
    """Implements `AdPlatform`.

    Attributes:
        api: address of the Google Ads API with its version.
        tokens: address where a refresh token is turned into an access token.
        clock: the present.
    """

    api: str = API_URL
    token_url: str = TOKEN_URL
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``google``."""
        return "google"

    @property
    def info(self) -> AdPlatformInfo:
        """Names by which requests and visits refer to Google."""
        return AdPlatformInfo(
            aliases=("google_ads",),
            level_names={"adgroup": AdLevel.GROUP},
            traffic_sources=("adwords", "youtube"),
        )

    def with_base_url(self, base_url: str) -> "GoogleAds":
        """The same, of another version or behind a proxy."""
        return replace(self, api=base_url)

    async def accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """The accounts below the manager account, or those the person may open; managers have no ads.

        Raises:
            PlatformUnavailable: Google cannot be read now.
            CredentialsRejected: the credentials are not good.
        """
        manager = strip_dashes(secrets.get(MANAGER))
        with platform_numbers.raise_if_malformed("Google Ads"):
            async with open_client(self.api, self.token_url, secrets, self.clock) as client:
                if manager:
                    below = await client.search(manager, CLIENT_ACCOUNTS_QUERY)
                    return [map_account(one["customerClient"]) for one in below]
                found = [
                    await client.search_if_open(own, ACCOUNT_QUERY)
                    for own in await client.list_accessible_customers()
                ]
                told = [one["customer"] for rows in found for one in rows]
                return [map_account(one) for one in told if not one.get("manager")]

    async def spend(
        self, account: AdAccount, level: AdLevel, first: date, last: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformUnavailable: Google cannot be read now.
            CredentialsRejected: the credentials are not good, or not for this account.
        """
        now, version = self.clock(), self.api.rpartition("/")[2]
        with platform_numbers.raise_if_malformed("Google Ads"):
            async with open_client(self.api, self.token_url, secrets, self.clock) as client:
                told = await client.search(account.id, spend_query(level, first, last))
            return [map_spend_row(one, account, level, now, version) for one in told]
