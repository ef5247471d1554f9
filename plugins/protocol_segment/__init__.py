"""The HTTP API of Segment: ``/v1/batch``, ``/v1/track``, ``/v1/identify``, ``/v1/page`` and the others."""

from collections.abc import Iterable

from plugins.protocol_segment.protocol import SegmentProtocol
from service_core.plugin import IngestProtocol, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Segment", icon="S", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Segment."""
    return (SegmentProtocol(),)
