"""Ads on TikTok: ``touchpoint connection add tiktok --secret access_token --secret app_id --secret secret``."""

from collections.abc import Iterable

from plugins.ads_tiktok.adapter import TikTokAds
from plugins.ads_tiktok.conversions import CONVERSION_SENDER
from service_core.plugin import AdPlatform, ConversionSender, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "TikTok",
        icon="T",
        hosts=("business-api.tiktok.com",),
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """TikTok."""
    return (TikTokAds(),)


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to TikTok."""
    return (CONVERSION_SENDER,)
