"""The ingestion API of Mixpanel under ``/mixpanel``: ``/track``, ``/engage`` and ``/import``."""

from collections.abc import Iterable

from plugins.protocol_mixpanel.history import MixpanelHistory
from plugins.protocol_mixpanel.protocol import MixpanelProtocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Mixpanel", icon="X", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Mixpanel."""
    return (MixpanelProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (MixpanelHistory(),)
