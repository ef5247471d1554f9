"""The event store in memory: the readable reference that other stores are tested against."""

from collections.abc import Iterable
from typing import Any

from service_core.plugin import Adapter, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo(
        "Events in memory", icon="E", reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA, PluginData.PAYMENTS)
    )


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the ``memory://`` adapter; events are lost when the process ends."""
    summary = "Events in memory; for tests and trials."
    return [Adapter("events", "memory", _open, summary=summary, multi_process=False)]


def _open(_: Any) -> object:
    from plugins.events_memory.adapter import MemoryEventStore

    return MemoryEventStore()
