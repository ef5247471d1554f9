"""The embedded event store answers everything the kit asks as the reference does."""

from pathlib import Path

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_store import EventStoreConformance


class TestDuckDb(EventStoreConformance):
    @pytest.fixture
    async def store(self, tmp_path: Path):
        # A world is too small for a second thread to be worth its hand-over.
        store = collect_plugins_into_registry().open_adapter(
            "events", "duckdb:///events.db?threads=1&timeout_seconds=300", base_folder=tmp_path
        )
        await store.start()
        yield store
        await store.aclose()
