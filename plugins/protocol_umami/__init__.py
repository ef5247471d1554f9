"""The tracking API of Umami: ``/api/send``."""

from collections.abc import Iterable

from plugins.protocol_umami.history import UmamiHistory
from plugins.protocol_umami.protocol import UmamiProtocol
from service_core.plugin import ImportSource, IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Umami."""
    return (UmamiProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (UmamiHistory(),)
