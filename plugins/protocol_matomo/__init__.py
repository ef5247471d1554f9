"""The tracking API of Matomo: ``matomo.php``."""

from collections.abc import Iterable

from plugins.protocol_matomo.protocol import MatomoProtocol
from service_core.plugin import IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Matomo."""
    return (MatomoProtocol(),)
