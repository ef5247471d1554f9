"""Events in ClickHouse answer everything the kit asks as the reference does: the real engine, in process."""

import asyncio
from functools import partial

import pytest

from service_core.testing.event_store import EventStoreConformance
from tests.conformance.started_store import open_started
from tests.fixtures.clickhouse_in_process import open_in_process_store

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clickhouse")


@pytest.fixture(scope="module")
def shared_store(folder):
    """One engine for all: every test keeps to workspaces of its own."""
    store = open_in_process_store(folder)
    asyncio.run(store.start())
    yield store
    asyncio.run(store.aclose())


class TestClickHouse(EventStoreConformance):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store

    @pytest.fixture
    def open_store(self, folder, shared_store):
        return partial(open_started, partial(open_in_process_store, folder))
