"""Counters in memory pass the kit of the limiter."""

import pytest

from plugins.limits_memory.adapter import MemoryLimiter
from service_core.testing.rate_limiter import RateLimiterConformance


class TestMemory(RateLimiterConformance):
    @pytest.fixture
    def limiter(self):
        return MemoryLimiter(capacity=1000)
