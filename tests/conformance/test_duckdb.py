"""The embedded event store answers everything the kit asks as the reference does."""

from pathlib import Path

import pytest

from service_core.extension import load
from service_core.testing.event_store import EventStoreConformance


class TestDuckDb(EventStoreConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path):
        store = load().open("events", "duckdb:///events.db", folder=tmp_path)
        await store.start()
        yield store
        await store.aclose()
