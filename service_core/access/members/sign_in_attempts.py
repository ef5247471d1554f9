"""Rate limits for sign-in attempts. An attempt is counted before anything is looked up."""

from typing import Final

from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.kernel.errors import ServiceUnavailable, TooManyRequests

ATTEMPTS_PER_ADDRESS: Final = 10
"""Per e-mail address or passkey, in 15 minutes."""
ATTEMPTS_PER_CLIENT: Final = 30
ATTEMPT_WINDOW_SECONDS: Final = 900


async def count_attempt_per_15_minutes_or_raise(
    limiter: RateLimiter, counted_key: str, max_attempts: int
) -> None:
    """Counts one attempt.

    Args:
        limiter: the limit store.
        counted_key: the account or client the attempts are counted for.
        max_attempts: attempts in 15 minutes.

    Raises:
        TooManyRequests: the limit is exceeded.
        ServiceUnavailable: attempts cannot be counted.
    """
    try:
        result = await limiter.consume(counted_key, max_attempts, ATTEMPT_WINDOW_SECONDS)
    except RateLimiterUnavailable:
        raise ServiceUnavailable("Attempts cannot be counted", "limiter_unavailable") from None
    if not result.allowed:
        raise TooManyRequests(
            "Too many attempts", "rate_limited", headers={"Retry-After": str(ATTEMPT_WINDOW_SECONDS)}
        )
