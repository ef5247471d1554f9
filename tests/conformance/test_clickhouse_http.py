"""What is written to ClickHouse and read from it is the same through the client's HTTP transport."""

import asyncio
from pathlib import Path

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_store.append_events import AppendEvents
from service_core.testing.event_store.event_reads import EventReads
from service_core.testing.event_store.golden_numbers import GoldenNumbers
from tests.fixtures.clickhouse_http_server import serve_clickhouse

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    """One server for all: every test keeps to workspaces of its own."""
    with serve_clickhouse(tmp_path_factory.mktemp("clickhouse")) as server:
        store = collect_plugins_into_registry().open_adapter("events", server.url, base_folder=Path())
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


class TestClickHouseOverHttp(AppendEvents, EventReads, GoldenNumbers):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store
