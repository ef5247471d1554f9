"""Removes personal data from the properties of events by pattern, before they are stored."""

from collections.abc import Iterable

from plugins.transform_redact.redaction import TRANSFORM
from plugins.transform_redact.settings import RedactionSettings
from service_core.plugin import PluginData, PluginInfo, Transform, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(
        label="Redaction",
        icon="█",
        settings=RedactionSettings,
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA),
    )


@hook
def transforms() -> Iterable[Transform]:
    """Returns the transform that removes personal data."""
    return (TRANSFORM,)
