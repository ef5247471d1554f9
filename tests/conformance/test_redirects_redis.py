"""Redirects remembered in Redis pass the kit of the mapping."""

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.redirects import RedirectCacheConformance


class TestRedis(RedirectCacheConformance):
    @pytest.fixture
    async def cache(self, redis_url, tmp_path):
        cache = collect_plugins_into_registry().open_adapter(
            "redirect_cache", f"{redis_url}/0?timeout_seconds=5", base_folder=tmp_path
        )
        yield cache
        await cache.aclose()
