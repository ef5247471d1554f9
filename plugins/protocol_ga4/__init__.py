"""The Measurement Protocol and the tag of Google Analytics 4: ``/mp/collect`` and ``/g/collect``."""

from collections.abc import Iterable

from plugins.protocol_ga4.protocol import Ga4Protocol
from service_core.plugin import IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Google Analytics 4."""
    return (Ga4Protocol(),)
