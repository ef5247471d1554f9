"""Ads on Google: ``touchpoint connection add google --secret developer_token …``."""

from collections.abc import Iterable

from plugins.ads_google.adapter import GoogleAds
from plugins.ads_google.conversions import CONVERSION_SENDER
from service_core.plugin import AdPlatform, ConversionSender, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "Google Ads",
        icon="G",
        hosts=("googleads.googleapis.com", "oauth2.googleapis.com"),
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Google."""
    return (GoogleAds(),)


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to Google."""
    return (CONVERSION_SENDER,)
