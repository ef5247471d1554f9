"""The tracking API of Matomo: ``matomo.php``."""

from collections.abc import Iterable

from plugins.protocol_matomo.history import MatomoHistory
from plugins.protocol_matomo.protocol import MatomoProtocol
from service_core.plugin import ImportSource, IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Matomo", icon="M", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Matomo."""
    return (MatomoProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (MatomoHistory(),)
