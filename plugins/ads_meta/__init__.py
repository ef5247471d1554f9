"""Ads on Facebook and Instagram: ``touchpoint connection add meta --secret access_token``."""

from collections.abc import Iterable

from plugins.ads_meta.adapter import MetaAds
from plugins.ads_meta.conversions import CONVERSION_SENDER
from service_core.plugin import AdPlatform, ConversionSender, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "Meta",
        icon="M",
        hosts=("graph.facebook.com",),
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def ad_platforms() -> Iterable[AdPlatform]:
    """Meta."""
    return (MetaAds(),)


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to Meta."""
    return (CONVERSION_SENDER,)
