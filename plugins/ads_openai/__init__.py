"""Conversions sent to OpenAI: ``touchpoint connection add openai --secret api_key --asset ACCOUNT/PIXEL``."""

from collections.abc import Iterable

from plugins.ads_openai.conversions import CONVERSION_SENDER
from service_core.plugin import ConversionSender, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "OpenAI",
        icon="O",
        hosts=("bzr.openai.com",),
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS),
    )


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Conversions to OpenAI."""
    return (CONVERSION_SENDER,)
