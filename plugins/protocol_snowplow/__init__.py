"""The tracker protocol of Snowplow: ``tp2`` and ``/i``."""

from collections.abc import Iterable

from plugins.protocol_snowplow.protocol import SnowplowProtocol
from service_core.plugin import IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of Snowplow."""
    return (SnowplowProtocol(),)
