"""Attempts to prove who somebody is: counted before anything is looked up; uncounted, none is made."""

from typing import Final

from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.kernel.errors import ServiceUnavailable, TooManyRequests

ATTEMPTS_PER_ADDRESS: Final = 10
"""Also per passkey."""
ATTEMPTS_PER_CLIENT: Final = 30
ATTEMPT_WINDOW_SECONDS: Final = 900


async def consume_attempt(limiter: RateLimiter, key: str, limit: int) -> None:
    """Count one attempt.

    Args:
        limiter: counts.
        key: what the attempts are made on, or who makes them.
        limit: attempts in 15 minutes.

    Raises:
        TooManyRequests: they were made.
        Unavailable503: attempts cannot be counted.
    """
    try:
        allowance = await limiter.consume(key, limit, ATTEMPT_WINDOW_SECONDS)
    except RateLimiterUnavailable:
        raise ServiceUnavailable("Attempts cannot be counted", "limiter_unavailable") from None
    if not allowance.allowed:
        raise TooManyRequests(
            "Too many attempts", "rate_limited", headers={"Retry-After": str(ATTEMPT_WINDOW_SECONDS)}
        )
