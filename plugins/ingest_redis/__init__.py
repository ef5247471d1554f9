"""The ingest queue on a Redis stream, for several ingest hosts and consumers: ``redis://host:6379/0``."""

from collections.abc import Iterable

from plugins.ingest_redis.settings import IngestRedisSettings
from service_core.plugin import Adapter, IngestQueue, PluginData, PluginInfo, hook


def _open(settings: IngestRedisSettings) -> IngestQueue:
    from plugins.ingest_redis.adapter import RedisIngestQueue

    return RedisIngestQueue(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Ingest queue in Redis", icon="R", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters for several machines, plain and over TLS."""
    summary = "Durable ingest queue on a Redis or Valkey stream, shared by ingest hosts and consumers."
    return [
        Adapter(port="queue", scheme=scheme, open=_open, settings=IngestRedisSettings, summary=summary)
        for scheme in ("redis", "rediss")
    ]
