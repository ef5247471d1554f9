"""Ad accounts, ad entities and rows of ad spend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from service_core.analytics.connections.declaration import ConnectionDeclaration


class AdLevel(StrEnum):
    """Entity level of a row of spend; rows of different levels are never added."""

    CAMPAIGN = "campaign"
    GROUP = "group"
    AD = "ad"


@dataclass(frozen=True, slots=True)
class AdPlatformInfo:
    """Properties of an ad platform.

    Attributes:
        aliases: other names of the platform that requests may use.
        level_names: its own names of levels that requests may use.
        traffic_sources: sources of visits that its ads bring; its id is one of them without being named.
        connection: how it is connected; None where only its page says so.
    """

    aliases: tuple[str, ...] = ()
    level_names: Mapping[str, AdLevel] = field(default_factory=dict)
    traffic_sources: tuple[str, ...] = ()
    connection: ConnectionDeclaration | None = None


@dataclass(frozen=True, slots=True)
class AdAccount:
    """An ad account at a platform: spend is in its currency, days are in its zone."""

    id: str
    name: str | None
    currency: str
    timezone: str


@dataclass(frozen=True, slots=True)
class AdEntity:
    """The advertised entity: an ad with its ad group and campaign, or only a campaign.

    The id of the level is always there; those below it are None.
    """

    level: AdLevel
    campaign_id: str
    campaign_name: str | None = None
    group_id: str | None = None
    group_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    status: str | None = None

    @property
    def id(self) -> str:
        """The id at its level."""
        return {AdLevel.CAMPAIGN: self.campaign_id, AdLevel.GROUP: self.group_id, AdLevel.AD: self.ad_id}[
            self.level
        ] or ""

    @property
    def name(self) -> str | None:
        """The name at its level."""
        return {
            AdLevel.CAMPAIGN: self.campaign_name,
            AdLevel.GROUP: self.group_name,
            AdLevel.AD: self.ad_name,
        }[self.level]


@dataclass(frozen=True, slots=True)
class SpendRow:
    """Figures of one entity on one day of its account, in one version.

    Its natural key is platform, account, level, entity, day and ``attribution_setting``; of several
    versions the latest ``fetched_at`` counts. A field the platform leaves out is None, never 0.

    Attributes:
        day: in the zone of the account.
        spend, conversion_value: in minor units of ``currency``.
        conversions: as the platform claims them, which may be a fraction.
        attribution_setting: windows the platform's claims follow, in its own words.
    """

    platform: str
    account_id: str
    entity: AdEntity
    day: date
    currency: str
    account_zone: str
    fetched_at: datetime
    spend: int | None = None
    impressions: int | None = None
    clicks: int | None = None
    reach: int | None = None
    conversions: float | None = None
    conversion_value: int | None = None
    attribution_setting: str = ""
    report_version: str = ""
