"""The cache of public pages: one question a minute, whoever asks."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from service_core.workspace.share_links.ttl_cache import TtlCache


class CacheHarness:
    def __init__(self, capacity=10):
        self.now = datetime(2026, 7, 8, tzinfo=UTC)
        self.cache = TtlCache(timedelta(seconds=60), lambda: self.now, capacity)
        self.asked, self.held, self.fault = [], asyncio.Event(), None
        self.held.set()

    async def get(self, key):
        async def ask():
            self.asked.append(key)
            await self.held.wait()
            if self.fault:
                raise self.fault
            return f"{key}{len(self.asked)}"

        return await self.cache.get_or_compute(key, ask)


async def test_value_is_cached_for_its_lifetime():
    bench = CacheHarness()
    assert [await bench.get("a"), await bench.get("a"), await bench.get("b")] == ["a1", "a1", "b2"]
    bench.now += timedelta(seconds=60)
    assert await bench.get("a") == "a3"


async def test_concurrent_misses_share_one_load():
    bench = CacheHarness()
    bench.held.clear()
    waiting = [asyncio.create_task(bench.get("a")) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    bench.held.set()
    assert await asyncio.gather(*waiting[1:]) == ["a1"] * 49
    assert bench.asked == ["a"]


async def test_failed_load_is_not_cached():
    bench = CacheHarness()
    bench.fault = RuntimeError("down")
    with pytest.raises(RuntimeError):
        await bench.get("a")
    bench.fault = None
    assert await bench.get("a") == "a2"


async def test_oldest_entries_are_evicted_first():
    bench = CacheHarness(capacity=2)
    for key in ("a", "b", "c"):
        await bench.get(key)
    assert await bench.get("c") == "c3"
    assert await bench.get("a") == "a4"
