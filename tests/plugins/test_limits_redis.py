"""Budgets in Redis: one count for all processes, and a quick, honest word when the server is away."""

import asyncio
from contextlib import asynccontextmanager
from unittest.mock import Mock

import pytest

from plugins.limits_redis.adapter import RedisLimiter
from plugins.limits_redis.breaker import PROBE_SECONDS, CircuitBreaker
from service_core.access.ports import RateLimiterUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.testing.rate_limiter import ENDLESS_WINDOW_SECONDS

REGISTRY = collect_plugins_into_registry()


@asynccontextmanager
async def open_limiter(url, folder, **given):
    query = "&".join(f"{name}={value}" for name, value in ({"timeout_seconds": 5} | given).items())
    opened = REGISTRY.open_adapter("limits", f"{url}/0?{query}", base_folder=folder)
    try:
        yield opened
    finally:
        await opened.aclose()


async def test_two_processes_count_together_and_a_restart_of_one_resets_nothing(redis_url, tmp_path):
    key = f"{tmp_path}:shared"
    async with open_limiter(redis_url, tmp_path) as one, open_limiter(redis_url, tmp_path) as two:
        answers = await asyncio.gather(
            *(process.consume(key, 50, ENDLESS_WINDOW_SECONDS) for _ in range(50) for process in (one, two))
        )
    assert sum(allowance.allowed for allowance in answers) == 50
    async with open_limiter(redis_url, tmp_path) as again:
        assert not (await again.consume(key, 50, ENDLESS_WINDOW_SECONDS)).allowed


async def test_deployments_with_different_prefixes_count_separately(redis_url, tmp_path):
    key = f"{tmp_path}:apart"
    async with (
        open_limiter(redis_url, tmp_path, prefix="a") as one,
        open_limiter(redis_url, tmp_path, prefix="b") as two,
    ):
        assert (await one.consume(key, 1, ENDLESS_WINDOW_SECONDS)).allowed
        assert (await two.consume(key, 1, ENDLESS_WINDOW_SECONDS)).allowed


async def test_counter_expires_with_its_window(redis_server, tmp_path):
    async with open_limiter(redis_server.url, tmp_path) as opened, asyncio.timeout(30):
        assert (await opened.consume("key", 2, 1)).remaining == 1
        while (await opened.consume("key", 2, 1)).allowed:  # also where two calls take longer than a window
            pass
        while redis_server.first_line_of_reply("DBSIZE") != ":0":
            await asyncio.sleep(0.05)
        afterwards = await opened.consume("key", 2, 1)
    assert (afterwards.allowed, afterwards.remaining) == (True, 1)


async def test_script_is_reloaded_after_a_flush(redis_server, tmp_path):
    async with open_limiter(redis_server.url, tmp_path) as opened:
        await opened.consume("key", 5, ENDLESS_WINDOW_SECONDS)
        assert redis_server.first_line_of_reply("SCRIPT", "FLUSH") == "+OK"
        assert (await opened.consume("key", 5, ENDLESS_WINDOW_SECONDS)).remaining == 3


async def test_refused_connection_is_reported_immediately(tmp_path):
    # Before nobody waits any more, three would have waited for 15 seconds.
    async with open_limiter("redis://127.0.0.1:1", tmp_path) as opened, asyncio.timeout(12):
        for _ in range(20):
            with pytest.raises(RateLimiterUnavailable):
                await opened.consume("key", 5, 60)


async def test_hanging_server_opens_the_circuit_after_three_timeouts(redis_server, tmp_path):
    async with open_limiter(redis_server.url, tmp_path, timeout_seconds=0.4) as opened, asyncio.timeout(100):
        while not await admits_request(opened):
            await asyncio.sleep(0.05)
        now = 100.0
        opened._breaker = CircuitBreaker(lambda: now)
        opened._script = Mock(side_effect=opened._script)
        redis_server.suspend()
        for _ in range(20):
            with pytest.raises(RateLimiterUnavailable):
                await opened.consume("key", 5, ENDLESS_WINDOW_SECONDS)
        assert opened._script.call_count == 3
        redis_server.resume()
        while not await admits_request(opened):
            now += PROBE_SECONDS


async def admits_request(opened: RedisLimiter) -> bool:
    try:
        return (await opened.consume("after", 1_000_000, ENDLESS_WINDOW_SECONDS)).allowed
    except RateLimiterUnavailable:
        return False


@pytest.mark.parametrize(
    "url",
    [
        "redis:///relative",
        "redis://localhost/name",
        "redis://localhost/0?timeout_seconds=0",
        "redis://localhost/0?size=5",
    ],
)
def test_invalid_url_stops_the_start(tmp_path, url):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("limits", url, base_folder=tmp_path)


def test_url_supports_tls_and_user_name(tmp_path):
    opened = REGISTRY.open_adapter("limits", "rediss://ann:secret@redis.example:6390/3", base_folder=tmp_path)
    options = opened._redis.connection_pool.connection_kwargs
    assert (options["host"], options["port"], options["db"], options["username"]) == (
        "redis.example",
        6390,
        3,
        "ann",
    )
    assert opened._redis.connection_pool.connection_class.__name__ == "SSLConnection"


def test_circuit_opens_after_three_failures_and_probes_every_second():
    now = 100.0
    breaker = CircuitBreaker(lambda: now)
    for _ in range(3):
        assert breaker.may_call_or_probe_once_a_second()
        breaker.record_failure()
    assert not breaker.may_call_or_probe_once_a_second()
    now += 1
    assert [breaker.may_call_or_probe_once_a_second() for _ in range(3)] == [True, False, False]
    breaker.record_failure()
    now += 1
    assert breaker.may_call_or_probe_once_a_second()
    breaker.record_success()
    assert all(breaker.may_call_or_probe_once_a_second() for _ in range(3))


def test_success_between_failures_keeps_the_circuit_closed():
    breaker = CircuitBreaker(lambda: 0.0)
    for _ in range(10):
        breaker.record_failure()
        breaker.record_failure()
        breaker.record_success()
    assert breaker.may_call_or_probe_once_a_second()
