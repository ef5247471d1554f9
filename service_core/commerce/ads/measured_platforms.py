"""Which ad platforms a workspace knows the spend of, and which platform a touch came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import SPEND_PLATFORM
from service_core.analytics.metrics.revenue import PAID_CHANNELS
from service_core.commerce.ads.match_ads import MATCHED_UTM_COLUMNS, AdMatcher
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import AdPlatforms, AdSpendStore
from service_core.kernel.async_gather import gather_or_cancel

MATCHED_TOUCH_COLUMNS: Final = (*MATCHED_UTM_COLUMNS, "channel")
"""Columns of a touch that its ad and its platform follow from."""

AdColumns = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TouchPlatforms:
    """Finds the ad and the platform of a touch.

    Attributes:
        matcher: finds the ad by UTM values.
        measured: ids of the platforms whose spend is known.
        platform_by_source: traffic sources other than platform ids, each with its platform.
    """

    matcher: AdMatcher
    measured: frozenset[str]
    platform_by_source: Mapping[str, str]

    def paid_platform_of_touch(self, *touch_values: str | None) -> str | None:
        """Returns the platform that was paid for a touch: that of its ad, else that of the source of a paid channel.

        Args:
            touch_values: values of `MATCHED_TOUCH_COLUMNS`.
        """
        *utm_values, channel = touch_values
        source = utm_values[-1]
        if platform := self.matcher.match(*utm_values).get("platform"):
            return platform
        return self.platform_by_source.get(source, source) if source and channel in PAID_CHANNELS else None

    def ad_columns_of_touch(self, *touch_values: str | None) -> AdColumns:
        """Returns the columns of the ad of a touch, and the platform if its spend is known."""
        platform = self.paid_platform_of_touch(*touch_values)
        return {
            **self.matcher.match(*touch_values[:-1]),
            SPEND_PLATFORM.name: platform if platform in self.measured else None,
        }

    def cached_ad_columns_of_touch(self) -> Callable[..., AdColumns]:
        """Returns `ad_columns_of_touch` with a cache."""
        return cache(self.ad_columns_of_touch)


@dataclass(frozen=True, slots=True)
class MeasuredPlatforms:
    """Reads the ads and the measured platforms of a workspace."""

    store: AdSpendStore
    platforms: AdPlatforms
    connections: Connections
    providers: InstalledProviders

    async def load_touch_platforms(self, workspace_id: UUID) -> TouchPlatforms:
        """Returns what finds the ad and the platform of a touch.

        Raises:
            StoreUnavailable: spend or connections cannot be read.
        """
        entities_by_level, spending, connections = await gather_or_cancel(
            gather_or_cancel(
                *(self.store.list_ad_entities_with_latest_names(workspace_id, level) for level in AdLevel)
            ),
            self.store.list_platforms_with_spend(workspace_id),
            self.connections.list_connections_oldest_first(workspace_id),
        )
        by_source = self.platforms.by_traffic_source
        entities = (entity for of_level in entities_by_level for entity in of_level)
        connected = {c.provider for c in connections if self.providers.is_spend_measured(c)}
        return TouchPlatforms(AdMatcher(entities, by_source), spending | connected, by_source)
