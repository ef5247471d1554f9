"""The conformance kit of the rate limiter: the tests that every adapter of the port ``limits`` passes.

Override the fixture ``limiter`` with the adapter and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyLimiter(RateLimiterConformance):
        @pytest.fixture
        async def limiter(self):
            limiter = open_my_limiter()
            yield limiter
            await limiter.aclose()
"""

import asyncio
from uuid import uuid4

import pytest

from service_core.access.ports import RateLimiter

ENDLESS_WINDOW_SECONDS = 10_000_000_000
"""The window from 1970 to 2286, which neither begins nor ends while a test runs."""


class RateLimiterConformance:
    """All tests of the kit; override the fixture ``limiter``. Each test uses a new key."""

    @pytest.fixture
    def limiter(self) -> RateLimiter:
        """Returns the limiter under test."""
        raise pytest.UsageError("override the fixture `limiter` with the adapter under test")

    @pytest.fixture
    def key(self) -> str:
        """Returns a key without requests."""
        return f"request:{uuid4()}"

    async def test_limit_of_three_allows_three_requests_and_reports_remaining(
        self, limiter: RateLimiter, key: str
    ) -> None:
        """Of four requests with limit 3 three are allowed.

        Each allowance has limit and remaining requests.
        """
        allowances = [await limiter.consume(key, 3, ENDLESS_WINDOW_SECONDS) for _ in range(4)]
        assert [allowance.allowed for allowance in allowances] == [True, True, True, False]
        assert [allowance.remaining for allowance in allowances] == [2, 1, 0, 0]
        assert {(allowance.limit, allowance.degraded) for allowance in allowances} == {(3, False)}

    async def test_of_400_concurrent_requests_a_limit_of_100_allows_exactly_100(
        self, limiter: RateLimiter, key: str
    ) -> None:
        """Of 400 concurrent requests exactly 100 are allowed, each with another number remaining."""
        allowances = await asyncio.gather(
            *(limiter.consume(key, 100, ENDLESS_WINDOW_SECONDS) for _ in range(400))
        )
        assert sum(allowance.allowed for allowance in allowances) == 100
        assert sorted(a.remaining for a in allowances if a.allowed) == list(range(100))

    async def test_keys_and_window_lengths_are_counted_separately(
        self, limiter: RateLimiter, key: str
    ) -> None:
        """Another key, and another window length of the same key, have counts of their own."""
        assert (await limiter.consume(key, 1, ENDLESS_WINDOW_SECONDS)).allowed
        assert (await limiter.consume(f"{key}:other", 1, ENDLESS_WINDOW_SECONDS)).allowed
        assert (await limiter.consume(key, 1, 2 * ENDLESS_WINDOW_SECONDS)).allowed
        assert not (await limiter.consume(key, 1, ENDLESS_WINDOW_SECONDS)).allowed

    async def test_refused_request_is_not_counted(self, limiter: RateLimiter, key: str) -> None:
        """After refusals at limit 1 a request with limit 2 is allowed."""
        for _ in range(5):
            await limiter.consume(key, 1, ENDLESS_WINDOW_SECONDS)
        assert (await limiter.consume(key, 2, ENDLESS_WINDOW_SECONDS)).allowed

    async def test_limit_of_zero_refuses_every_request(self, limiter: RateLimiter, key: str) -> None:
        """A limit of 0 refuses the first request."""
        assert not (await limiter.consume(key, 0, ENDLESS_WINDOW_SECONDS)).allowed

    async def test_new_window_allows_requests_again(self, limiter: RateLimiter, key: str) -> None:
        """A key that is refused in a window of one second is allowed again in the next."""
        async with asyncio.timeout(30):
            while (await limiter.consume(key, 1, 1)).allowed:
                pass
            while not (await limiter.consume(key, 1, 1)).allowed:  # noqa: ASYNC110 - time passes by itself
                await asyncio.sleep(0.01)
