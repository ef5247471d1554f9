"""Gives UTM values one spelling, before events are stored."""

from collections.abc import Iterable

from plugins.transform_campaigns.rename import TRANSFORM
from plugins.transform_campaigns.settings import CampaignSettings
from service_core.plugin import PluginData, PluginInfo, Transform, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(label="Campaign names", icon="#", settings=CampaignSettings, reads=(PluginData.EVENTS,))


@hook
def transforms() -> Iterable[Transform]:
    """Returns the transform that renames UTM values."""
    return (TRANSFORM,)
