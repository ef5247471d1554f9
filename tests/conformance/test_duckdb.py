"""The embedded event store answers everything the kit asks as the reference does."""

from pathlib import Path

import pytest

from service_core.extensions.registry import load_plugins
from service_core.testing.event_store import EventStoreConformance


class TestDuckDb(EventStoreConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path):
        # A world is too small for a second thread to be worth its hand-over.
        store = load_plugins().open_adapter(
            "events", "duckdb:///events.db?threads=1&timeout_seconds=300", folder=tmp_path
        )
        await store.start()
        yield store
        await store.aclose()
