"""The embedded event store answers everything the kit asks as the reference does."""

from functools import partial

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_store import EventStoreConformance
from tests.conformance.started_store import open_started


class TestDuckDb(EventStoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path):
        registry = collect_plugins_into_registry()

        # A world is too small for a second thread to be worth its hand-over.
        url = "duckdb:///events.db?threads=1&timeout_seconds=300"
        return partial(open_started, lambda: registry.open_adapter("events", url, base_folder=tmp_path))

    @pytest.fixture
    async def store(self, open_store):
        async with open_store() as store:
            yield store
