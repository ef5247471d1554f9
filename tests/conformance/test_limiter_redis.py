"""Counters in Redis pass the kit of the limiter."""

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.rate_limiter import RateLimiterConformance


class TestRedis(RateLimiterConformance):
    @pytest.fixture
    async def limiter(self, redis_url, tmp_path):
        limiter = collect_plugins_into_registry().open_adapter(
            "limits", f"{redis_url}/0?timeout_seconds=5", base_folder=tmp_path
        )
        yield limiter
        await limiter.aclose()
