"""Redirects remembered in Redis pass the kit of the mapping."""

import pytest

from service_core.extensions.registry import load_plugins
from service_core.testing.redirects import EdgeMemoryConformance


class TestRedis(EdgeMemoryConformance):
    @pytest.fixture
    async def cache(self, redis_url, tmp_path):
        cache = load_plugins().open_adapter("edge", f"{redis_url}/0?timeout_seconds=5", folder=tmp_path)
        yield cache
        await cache.aclose()
