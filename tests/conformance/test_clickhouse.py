"""Events in ClickHouse answer everything the kit asks as the reference does: the real engine, in process."""

import asyncio

import pytest

from service_core.testing.event_store import EventStoreConformance
from tests.fixtures.clickhouse_in_process import open_in_process_store

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    """One engine for all: every test keeps to workspaces of its own."""
    store = open_in_process_store(tmp_path_factory.mktemp("clickhouse"))
    asyncio.run(store.start())
    yield store
    asyncio.run(store.aclose())


class TestClickHouse(EventStoreConformance):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store
