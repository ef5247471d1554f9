"""The queue on a Redis stream passes the kit of the ingest queue."""

from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from plugins.ingest_redis import ledger
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.queue import IngestQueueConformance


class TestRedis(IngestQueueConformance):
    @pytest.fixture
    def open_queue(self, redis_url, tmp_path, monkeypatch):
        # The kit asks for the ledger of seven weeks, on whatever machine.
        monkeypatch.setattr(ledger, "LEDGER_TIMEOUT_SECONDS", 30.0)
        registry = collect_plugins_into_registry()
        url = f"{redis_url}/0?prefix={uuid4().hex}&timeout_seconds=5&state_timeout_seconds=2"

        @asynccontextmanager
        async def opened():
            queue = registry.open_adapter("queue", url, base_folder=tmp_path)
            await queue.start()
            yield queue
            await queue.aclose()

        return opened
