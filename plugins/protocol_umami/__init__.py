"""The tracking API of Umami: ``/api/send``."""

from collections.abc import Iterable

from plugins.protocol_umami.history import UmamiHistory
from plugins.protocol_umami.protocol import UmamiProtocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Umami", icon="U", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Umami."""
    return (UmamiProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (UmamiHistory(),)
