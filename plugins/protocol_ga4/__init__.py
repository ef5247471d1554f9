"""The Measurement Protocol and the tag of Google Analytics 4: ``/mp/collect`` and ``/g/collect``."""

from collections.abc import Iterable

from plugins.protocol_ga4.history import Ga4History
from plugins.protocol_ga4.protocol import Ga4Protocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Google Analytics 4", icon="G", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Google Analytics 4."""
    return (Ga4Protocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (Ga4History(),)
