"""What is written to ClickHouse and read from it is the same through the client's HTTP transport."""

import asyncio
from pathlib import Path

import pytest

from service_core.extension.registry import load
from service_core.testing.event_store.log import Log
from service_core.testing.event_store.standard import Standard
from service_core.testing.event_store.writing import Writing
from tests.clickhouse_http import served

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """One server for all: every test keeps to workspaces of its own."""
    with served(tmp_path_factory.mktemp("clickhouse")) as server:
        store = load().open("events", server.url, folder=Path())
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


class TestClickHouseOverHttp(Writing, Log, Standard):
    @pytest.fixture
    def store(self, opened):
        return opened
