"""Ads on Facebook and Instagram: ``touchpoint connection add meta --secret access_token``."""

from collections.abc import Iterable

from plugins.ads_meta.adapter import MetaAds
from service_core.plugin import AdPlatform, hook


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Meta."""
    return (MetaAds(),)
