"""Budgets in memory, opened as the settings name them."""

import asyncio
from datetime import UTC, datetime

import pytest

from plugins import limits_memory
from plugins.limits_memory.adapter import MemoryLimiter
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError

REGISTRY = collect_plugins_into_registry([("limits_memory", limits_memory)], discover_entry_points=False)


@pytest.fixture
def fixed_clock():
    return lambda: datetime(2026, 7, 8, 15, 0, tzinfo=UTC)


async def test_400_concurrent_requests_never_exceed_a_limit_of_100(fixed_clock):
    limiter = MemoryLimiter(capacity=10, clock=fixed_clock)
    spent = await asyncio.gather(*(limiter.consume("key", 100, 60) for _ in range(400)))
    assert sum(allowance.allowed for allowance in spent) == 100


async def test_keys_and_windows_are_counted_separately(fixed_clock):
    limiter = MemoryLimiter(capacity=10, clock=fixed_clock)
    assert (await limiter.consume("a", 1, 60)).allowed
    assert (await limiter.consume("b", 1, 60)).allowed
    assert (await limiter.consume("a", 1, 1)).allowed
    assert not (await limiter.consume("a", 1, 60)).allowed


async def test_limiter_is_selected_by_its_url(tmp_path):
    limiter = REGISTRY.open_adapter("limits", "memory://?capacity=5", base_folder=tmp_path)
    assert (await limiter.consume("key", 10, 3600)).limit == 10


@pytest.mark.parametrize("url", ["memory://?capacity=0", "memory://?size=5"])
def test_invalid_url_stops_the_start(tmp_path, url):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("limits", url, base_folder=tmp_path)
