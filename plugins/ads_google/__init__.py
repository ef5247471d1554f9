"""Ads on Google: ``touchpoint connection add google --secret developer_token …``."""

from collections.abc import Iterable

from plugins.ads_google.adapter import GoogleAds
from plugins.ads_google.conversions import CONVERSION_SENDER
from service_core.plugin import AdPlatform, ConversionSender, hook


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Google."""
    return (GoogleAds(),)


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to Google."""
    return (CONVERSION_SENDER,)
