"""The queue in one file passes the kit of the ingest queue."""

from contextlib import asynccontextmanager

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.queue import IngestQueueConformance


class TestSpool(IngestQueueConformance):
    @pytest.fixture
    def open_queue(self, tmp_path):
        registry = collect_plugins_into_registry()

        @asynccontextmanager
        async def opened():
            queue = registry.open_adapter("queue", "spool:///spool.db", base_folder=tmp_path)
            await queue.start()
            yield queue
            await queue.aclose()

        return opened
