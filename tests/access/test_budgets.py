"""Contract 2.1, 2.4, 14: what a credential may still spend."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.models import AuthContext
from service_core.access.ports import RateLimitResult
from service_core.access.rate_limits import RateLimits, rate_headers
from service_core.kernel.errors import ServiceUnavailable, TooManyRequests
from tests.fixtures.port_stubs import ManualLimiter


@pytest.fixture
def limiter(clock):
    return ManualLimiter(clock)


@pytest.fixture
def budgets(limiter, clock):
    return RateLimits(limiter, clock)


@pytest.fixture
async def identity(directory, clock):
    initialized_deployment = await create_workspace_with_keys(directory, clock(), name="Example Shop")
    return AuthContext(initialized_deployment.agent_key.credential, initialized_deployment.workspace)


async def test_request_101_within_60_seconds_returns_429(budgets, identity, clock):
    spent = [await budgets.count_request_or_raise(identity) for _ in range(100)]
    assert [allowance.remaining for allowance in spent] == list(range(99, -1, -1))
    with pytest.raises(TooManyRequests) as caught:
        await budgets.count_request_or_raise(identity)
    assert caught.value.body() == {"error": "Rate limit exceeded", "code": "rate_limited"}
    assert caught.value.headers == {
        "Retry-After": "60",
        "X-RateLimit-Limit": "100",
        "X-RateLimit-Remaining": "0",
    }
    clock.advance(seconds=60)
    assert (await budgets.count_request_or_raise(identity)).remaining == 99


async def test_rate_limit_is_taken_from_the_key(budgets, identity):
    slow = replace(identity, credential=replace(identity.credential, rate_limit=1))
    assert (await budgets.count_request_or_raise(slow)).limit == 1
    with pytest.raises(TooManyRequests):
        await budgets.count_request_or_raise(slow)


async def test_mutations_have_their_own_limit_of_20_per_minute(budgets, identity):
    for left in range(19, -1, -1):
        request = await budgets.count_request_or_raise(identity)
        mutation = await budgets.count_mutation_or_raise(identity)
        assert rate_headers(request, mutation) == {
            "X-RateLimit-Limit": "100",
            "X-RateLimit-Remaining": str(left + 80),
            "X-RateLimit-Mutation-Remaining": str(left),
        }
    with pytest.raises(TooManyRequests) as caught:
        await budgets.count_mutation_or_raise(identity)
    assert caught.value.code == "mutation_rate_limited"
    assert caught.value.headers == {"Retry-After": "60", "X-RateLimit-Mutation-Remaining": "0"}
    assert (await budgets.count_request_or_raise(identity)).allowed


async def test_reads_have_a_degraded_limit_of_30_per_minute_without_the_limit_store(
    budgets, limiter, identity, clock
):
    limiter.down = True
    for left in range(29, -1, -1):
        allowance = await budgets.count_request_or_raise(identity)
        assert rate_headers(allowance) == {
            "X-RateLimit-Limit": "30",
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Degraded": "1",
        }
    with pytest.raises(TooManyRequests) as caught:
        await budgets.count_request_or_raise(identity)
    assert caught.value.headers["X-RateLimit-Degraded"] == "1"
    clock.advance(seconds=60)
    assert (await budgets.count_request_or_raise(identity)).degraded
    limiter.down = False
    assert not (await budgets.count_request_or_raise(identity)).degraded


async def test_degraded_limit_is_counted_per_credential(budgets, limiter, identity):
    limiter.down = True
    other = replace(identity, credential=replace(identity.credential, id=identity.workspace.id))
    for _ in range(30):
        await budgets.count_request_or_raise(identity)
    assert (await budgets.count_request_or_raise(other)).remaining == 29


@pytest.mark.parametrize(("processes", "share"), [(2, 15), (4, 7), (31, 1), (100, 1)])
async def test_degraded_limit_is_shared_by_the_processes_of_a_server(
    limiter, identity, clock, processes, share
):
    limiter.down = True
    budgets = RateLimits(limiter, clock, processes)
    for left in range(share - 1, -1, -1):
        allowance = await budgets.count_request_or_raise(identity)
        assert (allowance.limit, allowance.remaining) == (30, left)
    with pytest.raises(TooManyRequests):
        await budgets.count_request_or_raise(identity)


async def test_writes_and_fail_closed_routes_return_503_without_the_limit_store(budgets, limiter, identity):
    limiter.down = True
    with pytest.raises(ServiceUnavailable) as request:
        await budgets.count_request_or_raise(identity, refuse_if_limiter_unavailable=True)
    with pytest.raises(ServiceUnavailable) as mutation:
        await budgets.count_mutation_or_raise(identity)
    assert {request.value.code, mutation.value.code} == {"limiter_unavailable"}
    assert request.value.headers["Retry-After"] == mutation.value.headers["Retry-After"] == "5"
    assert request.value.headers["X-RateLimit-Degraded"] == "1"


def test_one_second_window_resets_every_second(clock):
    windows = FixedWindowCounter(clock)
    assert [windows.consume("key", 2, 1).allowed for _ in range(3)] == [True, True, False]
    clock.advance(seconds=1)
    assert windows.consume("key", 2, 1) == RateLimitResult(allowed=True, limit=2, remaining=1)


def test_clock_set_back_does_not_block_requests(clock):
    windows = FixedWindowCounter(clock)
    while windows.consume("key", 5, 60).allowed:
        pass
    clock.advance(hours=-1)
    assert windows.consume("key", 5, 60).allowed


def test_number_of_counters_per_window_is_bounded(clock):
    windows = FixedWindowCounter(clock, capacity=100)
    for number in range(1000):
        windows.consume(f"key {number}", 5, 60)
    assert len(windows._windows[60][1]) == 100


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), max_size=200), st.integers(1, 5))
def test_any_window_admits_at_most_its_limit(steps, limit):
    second = 0
    passed = {}

    class Present:
        def timestamp(self):
            return second

    windows = FixedWindowCounter(Present)
    for key, pause in steps:
        second += pause
        allowance = windows.consume(key, limit, 60)
        window = key, second // 60
        passed[window] = passed.get(window, 0) + allowance.allowed
        assert passed[window] <= limit
        assert allowance.remaining == limit - passed[window]
