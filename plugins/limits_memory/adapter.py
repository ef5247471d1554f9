"""The limiter port over the core's own windows."""

from service_core.plugin import Clock, FixedWindowCounter, RateLimitResult, system_clock


class MemoryLimiter:
    """Counts in this process only; it is never down.

    Args:
        capacity: keys counted in one window at most; beyond it the oldest ones start afresh.
        clock: gives the present.
    """

    def __init__(self, capacity: int, clock: Clock = system_clock) -> None:
        self._windows = FixedWindowCounter(clock, capacity)

    async def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Count one request against ``key`` in the present window."""
        return self._windows.consume(key, limit, window_seconds)
