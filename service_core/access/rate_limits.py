"""Rate limits per credential: requests and mutations in fixed windows of 60 seconds."""

from collections.abc import Mapping
from typing import Final, Protocol
from uuid import UUID

from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.ports import RateLimiter, RateLimiterUnavailable, RateLimitResult
from service_core.kernel.clock import Clock
from service_core.kernel.errors import ServiceUnavailable, TooManyRequests

WINDOW_SECONDS: Final = 60
MUTATION_LIMIT: Final = 20
STANDBY_LIMIT: Final = 30
RETRY_TOO_MANY: Final = {"Retry-After": "60"}
RETRY_UNAVAILABLE: Final = {"Retry-After": "5"}


class RateLimited(Protocol):
    """The subject of rate limits: an `AuthContext` or a `SignupCaller`."""

    @property
    def rate_limit_key(self) -> UUID:
        """Id of the credential, OAuth grant or signup."""

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""


class RateLimits:
    """Counts requests against the limits of their credential.

    While the limit store is unavailable, reads use a standby limit of 30 requests per 60 seconds for each credential
    and server, divided among the server's processes. Endpoints that fail closed are refused.

    Args:
        limiter: the limit store.
        clock: current time.
        processes: number of processes of this server that answer requests.
    """

    def __init__(self, limiter: RateLimiter, clock: Clock, processes: int = 1) -> None:
        self._limiter = limiter
        self._standby = FixedWindowCounter(clock)
        self._standby_limit_per_process = max(1, STANDBY_LIMIT // processes)

    async def count_request_or_raise(
        self, subject: RateLimited, *, refuse_if_limiter_unavailable: bool = False
    ) -> RateLimitResult:
        """Counts one request. Called for every request before its path is matched.

        Args:
            subject: the credential to count against.
            refuse_if_limiter_unavailable: refuse the request, instead of using the standby limit, while the limit store is unavailable.

        Returns:
            The remaining limit, for `rate_headers`.

        Raises:
            TooManyRequests: ``rate_limited``.
            ServiceUnavailable: ``limiter_unavailable``.
        """
        key = f"request:{subject.rate_limit_key}"
        try:
            result = await self._limiter.consume(key, subject.rate_limit, WINDOW_SECONDS)
        except RateLimiterUnavailable:
            result = self._consume_standby_limit(key)
            if refuse_if_limiter_unavailable:
                raise _limiter_unavailable_error(rate_headers(result)) from None
        if not result.allowed:
            raise TooManyRequests(
                "Rate limit exceeded", "rate_limited", headers={**RETRY_TOO_MANY, **rate_headers(result)}
            )
        return result

    async def count_mutation_or_raise(
        self, subject: RateLimited, *, is_plan: bool = False
    ) -> RateLimitResult:
        """Counts one mutation, or one plan, which has a limit of its own. The request itself was counted before.

        Args:
            subject: the credential to count against.
            is_plan: whether it counts against the limit of plans.

        Returns:
            The remaining limit, for `rate_headers`.

        Raises:
            TooManyRequests: ``mutation_rate_limited``.
            ServiceUnavailable: ``limiter_unavailable``.
        """
        key = f"{'plan' if is_plan else 'mutation'}:{subject.rate_limit_key}"
        try:
            result = await self._limiter.consume(key, MUTATION_LIMIT, WINDOW_SECONDS)
        except RateLimiterUnavailable:
            raise _limiter_unavailable_error({}) from None
        if not result.allowed:
            headers = {"X-RateLimit-Mutation-Remaining": "0"}
            raise TooManyRequests(
                "Rate limit exceeded", "mutation_rate_limited", headers={**RETRY_TOO_MANY, **headers}
            )
        return result

    def _consume_standby_limit(self, key: str) -> RateLimitResult:
        result = self._standby.consume(key, self._standby_limit_per_process, WINDOW_SECONDS)
        return RateLimitResult(result.allowed, STANDBY_LIMIT, result.remaining, degraded=True)


def rate_headers(
    request_limit: RateLimitResult, mutation_limit: RateLimitResult | None = None
) -> dict[str, str]:
    """Returns the rate limit headers of a response to an authenticated request."""
    headers = {
        "X-RateLimit-Limit": str(request_limit.limit),
        "X-RateLimit-Remaining": str(request_limit.remaining),
    }
    if mutation_limit is not None:
        headers["X-RateLimit-Mutation-Remaining"] = str(mutation_limit.remaining)
    if request_limit.degraded:
        headers["X-RateLimit-Degraded"] = "1"
    return headers


def _limiter_unavailable_error(headers: Mapping[str, str]) -> ServiceUnavailable:
    return ServiceUnavailable(
        "The rate limit store cannot be reached",
        "limiter_unavailable",
        headers={**RETRY_UNAVAILABLE, **headers},
        hint="Retry with the same Idempotency-Key; nothing was changed.",
    )
