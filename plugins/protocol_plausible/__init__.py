"""The events API of Plausible: ``/api/event``."""

from collections.abc import Iterable

from plugins.protocol_plausible.history import PlausibleHistory
from plugins.protocol_plausible.protocol import PlausibleProtocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Plausible", icon="P", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Plausible."""
    return (PlausibleProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (PlausibleHistory(),)
