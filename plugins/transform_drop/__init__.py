"""Leaves out events by hostname, path, address or name, before they are stored."""

from collections.abc import Iterable

from plugins.transform_drop.rules import TRANSFORM
from plugins.transform_drop.settings import DropSettings
from service_core.plugin import PluginData, PluginInfo, Transform, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(
        label="Left-out traffic",
        icon="-",
        settings=DropSettings,
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA),
    )


@hook
def transforms() -> Iterable[Transform]:
    """Returns the transform that leaves out events."""
    return (TRANSFORM,)
