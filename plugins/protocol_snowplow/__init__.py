"""The tracker protocol of Snowplow: ``tp2`` and ``/i``."""

from collections.abc import Iterable

from plugins.protocol_snowplow.protocol import SnowplowProtocol
from service_core.plugin import IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Snowplow", icon="W", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Snowplow."""
    return (SnowplowProtocol(),)
