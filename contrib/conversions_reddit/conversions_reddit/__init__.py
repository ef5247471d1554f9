"""Conversions sent to Reddit: ``touchpoint connection add reddit``."""

from collections.abc import Iterable

from conversions_reddit.sender import REDDIT_SENDER
from service_core.plugin import ConversionSender, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration: conversions leave for Reddit, with hashed customer data."""
    reads = (PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.CREDENTIALS)
    return PluginInfo(label="Reddit", icon="R", hosts=("ads-api.reddit.com",), reads=reads)


@hook
def conversion_senders() -> Iterable[ConversionSender]:
    """Reddit."""
    return (REDDIT_SENDER,)
