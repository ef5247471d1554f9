"""Ads on TikTok: ``touchpoint connection add tiktok --secret access_token --secret app_id --secret secret``."""

from collections.abc import Iterable

from plugins.ads_tiktok.adapter import TikTokAds
from service_core.plugin import AdPlatform, hook


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """TikTok."""
    return (TikTokAds(),)
