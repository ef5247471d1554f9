"""The HTTP API of Segment: ``/v1/batch``, ``/v1/track``, ``/v1/identify``, ``/v1/page`` and the others."""

from collections.abc import Iterable

from plugins.protocol_segment.protocol import SegmentProtocol
from service_core.plugin import IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Segment."""
    return (SegmentProtocol(),)
