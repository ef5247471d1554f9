"""Attempts to prove who somebody is: counted before anything is looked up; uncounted, none is made."""

from typing import Final

from service_core.access.ports import LimiterDown, RateLimiter
from service_core.kernel.errors import TooMany, Unavailable503

ATTEMPTS_PER_ADDRESS: Final = 10
"""Also per passkey."""
ATTEMPTS_PER_CLIENT: Final = 30
ATTEMPT_SECONDS: Final = 900


async def count_attempt(limiter: RateLimiter, key: str, limit: int) -> None:
    """Count one attempt.

    Args:
        limiter: counts.
        key: what the attempts are made on, or who makes them.
        limit: attempts in 15 minutes.

    Raises:
        TooMany: they were made.
        Unavailable503: attempts cannot be counted.
    """
    try:
        allowance = await limiter.spend(key, limit, ATTEMPT_SECONDS)
    except LimiterDown:
        raise Unavailable503("Attempts cannot be counted", "limiter_unavailable") from None
    if not allowance.allowed:
        raise TooMany("Too many attempts", "rate_limited", headers={"Retry-After": str(ATTEMPT_SECONDS)})
