"""Reads ad spend from Google Ads with its query language."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from plugins.ads_google.client import API_URL, MANAGER, TOKEN_URL, open_authorized_client, strip_dashes
from plugins.ads_google.connection import CONNECTION
from plugins.ads_google.mapping import (
    ACCOUNT_QUERY,
    CLIENT_ACCOUNTS_QUERY,
    daily_spend_query,
    map_account,
    map_spend_row,
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
        token_url: URL that exchanges a refresh token for an access token.
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
            connection=CONNECTION,
        )

    def with_base_url(self, base_url: str) -> "GoogleAds":
        """Returns an adapter for another version of the API or a proxy."""
        return replace(self, api=base_url)

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """Returns the accounts below the manager account if one is configured, else the directly accessible ones without managers.

        Raises:
            PlatformUnavailable: Google cannot be read now.
            CredentialsRejected: the credentials are not good.
        """
        manager = strip_dashes(secrets.get(MANAGER))
        with platform_numbers.malformed_response_as_unavailable("Google Ads"):
            async with open_authorized_client(self.api, self.token_url, secrets, self.clock) as client:
                if manager:
                    below = await client.search(manager, CLIENT_ACCOUNTS_QUERY)
                    return [map_account(row["customerClient"]) for row in below]
                row_lists = [
                    await client.search_or_empty_if_account_closed(own, ACCOUNT_QUERY)
                    for own in await client.list_accessible_customer_ids()
                ]
                customers = [row["customer"] for rows in row_lists for row in rows]
                return [map_account(row) for row in customers if not row.get("manager")]

    async def fetch_daily_spend(
        self, account: AdAccount, level: AdLevel, first_day: date, last_day: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Every row of a level, a row a day.

        Raises:
            PlatformUnavailable: Google cannot be read now.
            CredentialsRejected: the credentials are not good, or not for this account.
        """
        now, version = self.clock(), self.api.rpartition("/")[2]
        with platform_numbers.malformed_response_as_unavailable("Google Ads"):
            async with open_authorized_client(self.api, self.token_url, secrets, self.clock) as client:
                rows = await client.search(account.id, daily_spend_query(level, first_day, last_day))
            return [map_spend_row(row, account, level, now, version) for row in rows]
