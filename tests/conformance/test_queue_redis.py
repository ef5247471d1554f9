"""The queue on a Redis stream passes the kit of the ingest queue."""

from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from plugins.ingest_redis import reader
from service_core.extension.registry import load
from service_core.testing.queue import IngestQueueConformance


class TestRedis(IngestQueueConformance):
    @pytest.fixture
    def queues(self, redis_url, tmp_path, monkeypatch):
        # The kit asks for the ledger of seven weeks, on whatever machine.
        monkeypatch.setattr(reader, "LEDGER_PATIENCE_SECONDS", 30.0)
        registry = load()
        url = f"{redis_url}/0?prefix={uuid4().hex}&patience_seconds=5&glance_seconds=2"

        @asynccontextmanager
        async def opened():
            queue = registry.open("queue", url, folder=tmp_path)
            await queue.start()
            yield queue
            await queue.aclose()

        return opened
