"""Ports of ad platforms, and the store of ad spend."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol, runtime_checkable
from uuid import UUID

from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, AdPlatformInfo, SpendRow


@runtime_checkable
class AdPlatform(Protocol):
    """An ad platform, built once per deployment; whose account it is arrives with each call.

    Credentials are named by the platform's page: ``touchpoint connection add ID --secret NAME``. No
    text of an error tells one.
    """

    @property
    def id(self) -> str:
        """Id of the platform and of its connections."""

    @property
    def info(self) -> AdPlatformInfo:
        """Returns the properties of the platform, such as its id, label and levels."""

    async def list_accessible_accounts(self, secrets: Mapping[str, str]) -> Sequence[AdAccount]:
        """The ad accounts the credentials open.

        Raises:
            PlatformUnavailable: it cannot be read now.
            CredentialsRejected: the credentials are not good.
        """

    async def fetch_daily_spend(
        self, account: AdAccount, level: AdLevel, first_day: date, last_day: date, secrets: Mapping[str, str]
    ) -> Sequence[SpendRow]:
        """Every row of a level with delivery from ``first_day`` to ``last_day``, both inclusive, in the account's days.

        Raises:
            PlatformUnavailable: it cannot be read now.
            CredentialsRejected: the credentials are not good.
        """


@dataclass(frozen=True, slots=True)
class AdPlatforms:
    """Installed ad platforms by id."""

    by_id: Mapping[str, AdPlatform]

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names of platforms, each with the id it stands for."""
        return {alias: id_ for id_, platform in self.by_id.items() for alias in platform.info.aliases}

    @property
    def level_names(self) -> Mapping[str, AdLevel]:
        """Names of levels at the platforms."""
        return {
            name: level
            for platform in self.by_id.values()
            for name, level in platform.info.level_names.items()
        }

    @property
    def by_traffic_source(self) -> Mapping[str, str]:
        """Sources of visits, each with the id of the platform whose ads bring them."""
        return {
            source: id_ for id_, platform in self.by_id.items() for source in platform.info.traffic_sources
        }


@runtime_checkable
class SupportsBaseUrl(AdPlatform, Protocol):
    """An ad platform whose API a deployment may reach at another address, such as that of a newer version."""

    def with_base_url(self, base_url: str) -> AdPlatform:
        """Returns the same platform at another base URL: scheme, host and version, without a trailing slash."""


@dataclass(frozen=True, slots=True)
class SpendQuery:
    """Which rows are summed, and by what.

    Ids and names are those of the entity as it was named last.

    Attributes:
        group_by: columns that make a group: ``platform``, ``account_id``, ``campaign_id``, ``campaign_name``,
            ``group_id``, ``group_name``, ``ad_id``, ``ad_name``, ``day``. ``currency`` always does.
    """

    workspace_id: UUID
    first: date
    last: date
    level: AdLevel
    group_by: tuple[str, ...] = ()
    platforms: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class SpendSum:
    """The sum of the rows of a group; a column is None when any of its rows has none.

    Attributes:
        keys: values of the columns asked for, in their order.
        rows: how many there are.
    """

    keys: tuple[str | date | None, ...]
    currency: str
    rows: int
    spend: int | None
    impressions: int | None
    clicks: int | None
    reach: int | None
    conversions: float | None
    conversion_value: int | None


class AdSpendStore(Protocol):
    """The spend of every workspace, in versions.

    An entity's day counts once, by the version fetched last: with another ``attribution_setting`` its
    money was not spent again. Of versions fetched at one instant it is the last by that setting.
    """

    async def add_new_spend_versions(self, workspace_id: UUID, rows: Sequence[SpendRow]) -> None:
        """Adds rows as new versions; a row equal to its latest version only updates the names of its entity."""

    async def sum_latest_spend(self, query: SpendQuery) -> list[SpendSum]:
        """Returns the sums of the latest versions of rows, by the requested columns.

        Raises:
            StoreUnavailable: they cannot be read; that is not the same as none.
        """

    async def list_ad_entities_with_latest_names(
        self, workspace_id: UUID, level: AdLevel
    ) -> Sequence[tuple[str, str, AdEntity]]:
        """Returns platform, account and entity of everything that ever had spend, each with its latest names.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def list_platforms_with_spend(self, workspace_id: UUID) -> frozenset[str]:
        """The platforms there ever was spend of.

        Raises:
            StoreUnavailable: they cannot be read.
        """
