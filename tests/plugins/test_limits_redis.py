"""Budgets in Redis: one count for all processes, and a quick, honest word when the server is away."""

import asyncio
from contextlib import asynccontextmanager
from unittest.mock import Mock

import pytest

from plugins.limits_redis.adapter import RedisLimiter
from plugins.limits_redis.breaker import PROBE_SECONDS, CircuitBreaker
from service_core.access.ports import RateLimiterUnavailable
from service_core.extensions.registry import load_plugins
from service_core.kernel.errors import StartupError
from service_core.testing.rate_limiter import AGES

REGISTRY = load_plugins()


@asynccontextmanager
async def limiter(url, folder, **given):
    query = "&".join(f"{name}={value}" for name, value in ({"timeout_seconds": 5} | given).items())
    opened = REGISTRY.open_adapter("limits", f"{url}/0?{query}", folder=folder)
    try:
        yield opened
    finally:
        await opened.aclose()


async def test_two_processes_count_together_and_a_restart_of_one_resets_nothing(redis_url, tmp_path):
    key = f"{tmp_path}:shared"
    async with limiter(redis_url, tmp_path) as one, limiter(redis_url, tmp_path) as two:
        answers = await asyncio.gather(
            *(process.consume(key, 50, AGES) for _ in range(50) for process in (one, two))
        )
    assert sum(allowance.allowed for allowance in answers) == 50
    async with limiter(redis_url, tmp_path) as again:
        assert not (await again.consume(key, 50, AGES)).allowed


async def test_deployments_with_prefixes_of_their_own_count_apart(redis_url, tmp_path):
    key = f"{tmp_path}:apart"
    async with (
        limiter(redis_url, tmp_path, prefix="a") as one,
        limiter(redis_url, tmp_path, prefix="b") as two,
    ):
        assert (await one.consume(key, 1, AGES)).allowed
        assert (await two.consume(key, 1, AGES)).allowed


async def test_a_counter_is_gone_when_its_window_is_over(redis_server, tmp_path):
    async with limiter(redis_server.url, tmp_path) as opened, asyncio.timeout(30):
        assert (await opened.consume("key", 2, 1)).remaining == 1
        while (await opened.consume("key", 2, 1)).allowed:  # also where two calls take longer than a window
            pass
        while redis_server.run_command("DBSIZE") != ":0":
            await asyncio.sleep(0.05)
        afterwards = await opened.consume("key", 2, 1)
    assert (afterwards.allowed, afterwards.remaining) == (True, 1)


async def test_a_server_that_forgot_the_script_is_told_again(redis_server, tmp_path):
    async with limiter(redis_server.url, tmp_path) as opened:
        await opened.consume("key", 5, AGES)
        assert redis_server.run_command("SCRIPT", "FLUSH") == "+OK"
        assert (await opened.consume("key", 5, AGES)).remaining == 3


async def test_nobody_listening_is_told_at_once(tmp_path):
    # Before nobody waits any more, three would have waited for 15 seconds.
    async with limiter("redis://127.0.0.1:1", tmp_path) as opened, asyncio.timeout(12):
        for _ in range(20):
            with pytest.raises(RateLimiterUnavailable):
                await opened.consume("key", 5, 60)


async def test_a_server_that_hangs_costs_three_callers_their_patience_and_the_next_ones_nothing(
    redis_server, tmp_path
):
    async with limiter(redis_server.url, tmp_path, timeout_seconds=0.4) as opened, asyncio.timeout(100):
        while not await passes(opened):
            await asyncio.sleep(0.05)
        now = 100.0
        opened._breaker = CircuitBreaker(lambda: now)
        opened._script = Mock(side_effect=opened._script)
        redis_server.suspend()
        for _ in range(20):
            with pytest.raises(RateLimiterUnavailable):
                await opened.consume("key", 5, AGES)
        assert opened._script.call_count == 3
        redis_server.resume()
        while not await passes(opened):
            now += PROBE_SECONDS


async def passes(opened: RedisLimiter) -> bool:
    try:
        return (await opened.consume("after", 1_000_000, AGES)).allowed
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
def test_a_url_that_does_not_fit_stops_the_start(tmp_path, url):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("limits", url, folder=tmp_path)


def test_a_url_may_ask_for_tls_and_name_a_user(tmp_path):
    opened = REGISTRY.open_adapter("limits", "rediss://ann:secret@redis.example:6390/3", folder=tmp_path)
    options = opened._redis.connection_pool.connection_kwargs
    assert (options["host"], options["port"], options["db"], options["username"]) == (
        "redis.example",
        6390,
        3,
        "ann",
    )
    assert opened._redis.connection_pool.connection_class.__name__ == "SSLConnection"


def test_the_circuit_opens_with_the_third_failure_and_lets_one_try_through_each_second():
    now = 100.0
    breaker = CircuitBreaker(lambda: now)
    for _ in range(3):
        assert breaker.may_try()
        breaker.record_failure()
    assert not breaker.may_try()
    now += 1
    assert [breaker.may_try() for _ in range(3)] == [True, False, False]
    breaker.record_failure()
    now += 1
    assert breaker.may_try()
    breaker.record_success()
    assert all(breaker.may_try() for _ in range(3))


def test_a_success_between_failures_keeps_the_circuit_closed():
    breaker = CircuitBreaker(lambda: 0.0)
    for _ in range(10):
        breaker.record_failure()
        breaker.record_failure()
        breaker.record_success()
    assert breaker.may_try()
