"""Reads accounts and daily figures from the API of Pinterest, version 5."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final

from service_core.plugin import (
    AdAccount,
    AdEntity,
    AdLevel,
    AdPlatformInfo,
    Clock,
    ConnectionDeclaration,
    CredentialField,
    CredentialsRejected,
    PlatformUnavailable,
    SpendRow,
    platform_http,
    platform_numbers,
    system_clock,
)

ZONE: Final = "UTC"
"""Pinterest reports days of UTC."""
_SECONDS: Final = 60.0
_PAGE_SIZE: Final = "250"
_IDS_PER_REPORT: Final = 100
_LISTS: Final = {AdLevel.CAMPAIGN: "campaigns", AdLevel.GROUP: "ad_groups", AdLevel.AD: "ads"}
_ID_COLUMNS: Final = {AdLevel.CAMPAIGN: "CAMPAIGN_ID", AdLevel.GROUP: "AD_GROUP_ID", AdLevel.AD: "AD_ID"}
_COLUMNS: Final = "SPEND_IN_MICRO_DOLLAR,PAID_IMPRESSION,TOTAL_CLICKTHROUGH"
"""Amounts are millionths of the account's currency, whatever their name says."""


@dataclass(frozen=True)
class Pinterest:
    """Implements the port `AdPlatform`."""

    api: str = "https://api.pinterest.com/v5"
    clock: Clock = system_clock
    id = "pinterest"
    info = AdPlatformInfo(
        traffic_sources=("pinterest",),
        connection=ConnectionDeclaration(
            "Pinterest",
            "https://developers.pinterest.com/apps/",
            (CredentialField("access_token", "Access token", "With the scope ads:read."),),
        ),
    )

    def with_base_url(self, base_url: str) -> "Pinterest":
        """Returns the platform at another address."""
        return replace(self, api=base_url)

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> list[AdAccount]:
        """Returns the accounts of a token.

        Raises:
            PlatformUnavailable: Pinterest cannot be read now.
            CredentialsRejected: the token is missing or refused.
        """
        with platform_numbers.malformed_response_as_unavailable("Pinterest"):
            items = await self._list_items("ad_accounts", secrets)
            return [AdAccount(item["id"], item.get("name"), item["currency"], ZONE) for item in items]

    async def fetch_daily_spend(
        self, account: AdAccount, level: AdLevel, first_day: date, last_day: date, secrets: Mapping[str, str]
    ) -> list[SpendRow]:
        """Returns the figures of one level of an account, both days included.

        Raises:
            PlatformUnavailable: Pinterest cannot be read now.
            CredentialsRejected: the token is missing or refused.
        """
        fetched_at = self.clock()
        with platform_numbers.malformed_response_as_unavailable("Pinterest"):
            entities = await self._list_entities(account, level, secrets)
            rows: list[SpendRow] = []
            for ids in _chunks(list(entities)):
                report = await self._request(
                    f"ad_accounts/{account.id}/{_LISTS[level]}/analytics",
                    {
                        "start_date": f"{first_day}",
                        "end_date": f"{last_day}",
                        "granularity": "DAY",
                        "columns": _COLUMNS,
                        f"{_LISTS[level].removesuffix('s')}_ids": ",".join(ids),
                    },
                    secrets,
                )
                rows += [_to_spend_row(row, account, entities, level, fetched_at) for row in report]
            return rows

    async def _list_entities(
        self, account: AdAccount, level: AdLevel, secrets: Mapping[str, str]
    ) -> dict[str, AdEntity]:
        """Returns the entities of a level by id, with the names of those above them."""
        found: dict[AdLevel, dict[str, Any]] = {}
        for part in AdLevel:
            items = await self._list_items(
                f"ad_accounts/{account.id}/{_LISTS[part]}",
                secrets,
                {"entity_statuses": "ACTIVE,PAUSED,ARCHIVED"},
            )
            found[part] = {item["id"]: item for item in items}
            if part is level:
                break
        return {id_: _to_entity(item, level, found) for id_, item in found[level].items()}

    async def _list_items(
        self, path: str, secrets: Mapping[str, str], parameters: Mapping[str, str] | None = None
    ) -> list[Mapping[str, Any]]:
        """Returns the items of all pages."""
        items: list[Mapping[str, Any]] = []
        bookmark: str | None = ""
        while bookmark is not None:
            page = {"page_size": _PAGE_SIZE, **(parameters or {})}
            answer = await self._request(path, page | ({"bookmark": bookmark} if bookmark else {}), secrets)
            items += answer["items"]
            bookmark = answer.get("bookmark") or None
        return items

    async def _request(self, path: str, parameters: Mapping[str, str], secrets: Mapping[str, str]) -> Any:
        platform_http.require_credentials(secrets, ("access_token",))
        headers = {"Authorization": f"Bearer {secrets['access_token']}"}
        async with platform_http.open_json_client(
            "Pinterest", "httpx2", self.clock, timeout_seconds=_SECONDS, headers=headers
        ) as client:
            answer = await client.request_json("GET", f"{self.api}/{path}", params=parameters)
        if answer.status in {401, 403}:
            raise CredentialsRejected("Pinterest refuses the access token.")
        if not answer.is_success:
            raise PlatformUnavailable(
                f"Pinterest answers with status {answer.status}.", answer.retry_after, answer.status
            )
        return answer.require_json()


def _to_entity(
    item: Mapping[str, Any], level: AdLevel, found: Mapping[AdLevel, Mapping[str, Any]]
) -> AdEntity:
    campaign_id = item["id"] if level is AdLevel.CAMPAIGN else item["campaign_id"]
    campaign = AdEntity(level, campaign_id, found[AdLevel.CAMPAIGN].get(campaign_id, {}).get("name"))
    if level is AdLevel.CAMPAIGN:
        return campaign
    group_id = item["id"] if level is AdLevel.GROUP else item["ad_group_id"]
    group = replace(
        campaign, group_id=group_id, group_name=found[AdLevel.GROUP].get(group_id, {}).get("name")
    )
    return group if level is AdLevel.GROUP else replace(group, ad_id=item["id"], ad_name=item.get("name"))


def _to_spend_row(
    row: Mapping[str, Any],
    account: AdAccount,
    entities: Mapping[str, AdEntity],
    level: AdLevel,
    fetched_at: datetime,
) -> SpendRow:
    return SpendRow(
        platform="pinterest",
        account_id=account.id,
        entity=entities[str(row[_ID_COLUMNS[level]])],
        day=date.fromisoformat(row["DATE"]),
        currency=account.currency,
        account_zone=account.timezone,
        fetched_at=fetched_at,
        spend=platform_numbers.parse_reported_micros_to_minor_units(
            row.get("SPEND_IN_MICRO_DOLLAR"), account.currency
        ),
        impressions=platform_numbers.parse_reported_count(row.get("PAID_IMPRESSION")),
        clicks=platform_numbers.parse_reported_count(row.get("TOTAL_CLICKTHROUGH")),
    )


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _IDS_PER_REPORT):
        yield ids[start : start + _IDS_PER_REPORT]
