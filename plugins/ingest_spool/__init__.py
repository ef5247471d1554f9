"""The embedded ingest queue: one SQLite file, durable before it answers (``spool:///path``)."""

from plugins.ingest_spool.declaration import plugin_info as plugin_info
from plugins.ingest_spool.settings import SpoolSettings
from service_core.plugin import Adapter, LocalDataKind, hook


def _open(settings: SpoolSettings) -> object:
    from plugins.ingest_spool.adapter import SpoolQueue

    return SpoolQueue(settings)


@hook
def adapters() -> list[Adapter]:
    """Returns the adapter for one machine."""
    return [
        Adapter(
            port="queue",
            scheme="spool",
            open=_open,
            settings=SpoolSettings,
            summary="Durable ingest queue in one SQLite file; many requests share one commit.",
            local_data=LocalDataKind.SQLITE,
        )
    ]
