"""Counters in Redis pass the kit of the limiter."""

import pytest

from service_core.extension.registry import load
from service_core.testing.limiter import RateLimiterConformance


class TestRedis(RateLimiterConformance):
    @pytest.fixture
    async def limiter(self, redis_url, tmp_path):
        limiter = load().open("limits", f"{redis_url}/0?patience_seconds=5", folder=tmp_path)
        yield limiter
        await limiter.aclose()
