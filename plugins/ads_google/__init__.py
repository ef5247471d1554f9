"""Ads on Google: ``touchpoint connection add google --secret developer_token …``."""

from collections.abc import Iterable

from plugins.ads_google.adapter import GoogleAds
from service_core.plugin import AdPlatform, hook


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Google."""
    return (GoogleAds(),)
