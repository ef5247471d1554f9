"""What a credential may still spend: requests and mutations in fixed windows (contract 2.1, 2.4, 14)."""

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
    """Whoever a request is charged to: an `Identity` or an `Applicant`."""

    @property
    def spender(self) -> UUID:
        """Id of the credential, grant or signup."""

    @property
    def rate_limit(self) -> int:
        """Requests per 60 seconds."""


class RateLimits:
    """Charges requests against the budgets of their credential.

    While the limit store is away reads live on a standby limit of 30 per 60 seconds, credential and
    server, of which each process of the server has its share; routes that fail closed are refused.

    Args:
        limiter: the limit store.
        clock: gives the present.
        processes: how many processes of this server answer requests.
    """

    def __init__(self, limiter: RateLimiter, clock: Clock, processes: int = 1) -> None:
        self._limiter = limiter
        self._standby = FixedWindowCounter(clock)
        self._standby_limit_per_process = max(1, STANDBY_LIMIT // processes)

    async def consume_request(self, subject: RateLimited, *, fail_closed: bool = False) -> RateLimitResult:
        """Charge one request: every request, before its path is looked at.

        Args:
            asker: who is asking.
            fail_closed: the route is refused, not served on standby, when the store is away.

        Returns:
            What is left, for `rate_headers`.

        Raises:
            TooManyRequests: ``rate_limited``.
            Unavailable503: ``limiter_unavailable``.
        """
        key = f"request:{subject.spender}"
        try:
            allowance = await self._limiter.consume(key, subject.rate_limit, WINDOW_SECONDS)
        except RateLimiterUnavailable:
            allowance = self._consume_standby_limit(key)
            if fail_closed:
                raise _limiter_unavailable(rate_headers(allowance)) from None
        if not allowance.allowed:
            raise TooManyRequests(
                "Rate limit exceeded", "rate_limited", headers={**RETRY_TOO_MANY, **rate_headers(allowance)}
            )
        return allowance

    async def consume_mutation(self, subject: RateLimited) -> RateLimitResult:
        """Charge one mutation, dry runs included; the request has been charged before.

        Returns:
            What is left, for `rate_headers`.

        Raises:
            TooManyRequests: ``mutation_rate_limited``.
            Unavailable503: ``limiter_unavailable``.
        """
        key = f"mutation:{subject.spender}"
        try:
            allowance = await self._limiter.consume(key, MUTATION_LIMIT, WINDOW_SECONDS)
        except RateLimiterUnavailable:
            raise _limiter_unavailable({}) from None
        if not allowance.allowed:
            left = {"X-RateLimit-Mutation-Remaining": "0"}
            raise TooManyRequests(
                "Rate limit exceeded", "mutation_rate_limited", headers={**RETRY_TOO_MANY, **left}
            )
        return allowance

    def _consume_standby_limit(self, key: str) -> RateLimitResult:
        kept = self._standby.consume(key, self._standby_limit_per_process, WINDOW_SECONDS)
        return RateLimitResult(kept.allowed, STANDBY_LIMIT, kept.remaining, degraded=True)


def rate_headers(request: RateLimitResult, mutation: RateLimitResult | None = None) -> dict[str, str]:
    """The rate headers of an answer to an identified credential, success or error (contract 2.4)."""
    headers = {"X-RateLimit-Limit": str(request.limit), "X-RateLimit-Remaining": str(request.remaining)}
    if mutation is not None:
        headers["X-RateLimit-Mutation-Remaining"] = str(mutation.remaining)
    if request.degraded:
        headers["X-RateLimit-Degraded"] = "1"
    return headers


def _limiter_unavailable(headers: Mapping[str, str]) -> ServiceUnavailable:
    return ServiceUnavailable(
        "The rate limit store cannot be reached",
        "limiter_unavailable",
        headers={**RETRY_UNAVAILABLE, **headers},
        hint="Retry with the same Idempotency-Key; nothing was changed.",
    )
