"""Redirects remembered in Redis pass the kit of the mapping."""

import pytest

from service_core.extension.registry import load
from service_core.testing.edge import EdgeMemoryConformance


class TestRedis(EdgeMemoryConformance):
    @pytest.fixture
    async def memory(self, redis_url, tmp_path):
        memory = load().open("edge", f"{redis_url}/0?patience_seconds=5", folder=tmp_path)
        yield memory
        await memory.aclose()
