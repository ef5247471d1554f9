"""The memory store passes the kit that compares others with it."""

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.testing.event_store import EventStoreConformance


class TestEventsMemory(EventStoreConformance):
    keeps_events = False

    @pytest.fixture
    def store(self):
        return MemoryEventStore()
