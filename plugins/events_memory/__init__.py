"""The event store in memory: the readable reference that other stores are tested against."""

from collections.abc import Iterable
from typing import Any

from service_core.plugin import Adapter, hook


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the ``memory://`` adapter; events are lost when the process ends."""
    summary = "Events in memory; for tests and trials."
    return [Adapter("events", "memory", _open, summary=summary, multi_process=False)]


def _open(_: Any) -> object:
    from plugins.events_memory.adapter import MemoryEventStore

    return MemoryEventStore()
