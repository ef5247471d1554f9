"""Redirects remembered in Redis pass the kit of the mapping."""

import pytest

from service_core.extensions.registry import load_plugins
from service_core.testing.redirects import EdgeMemoryConformance


class TestRedis(EdgeMemoryConformance):
    @pytest.fixture
    async def memory(self, redis_url, tmp_path):
        memory = load_plugins().open_adapter("edge", f"{redis_url}/0?timeout_seconds=5", folder=tmp_path)
        yield memory
        await memory.aclose()
