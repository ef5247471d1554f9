"""Counters in Redis pass the kit of the limiter."""

import pytest

from service_core.extensions.registry import load_plugins
from service_core.testing.rate_limiter import RateLimiterConformance


class TestRedis(RateLimiterConformance):
    @pytest.fixture
    async def limiter(self, redis_url, tmp_path):
        limiter = load_plugins().open_adapter("limits", f"{redis_url}/0?timeout_seconds=5", folder=tmp_path)
        yield limiter
        await limiter.aclose()
