"""Implements the port `RateLimiter` in memory."""

from service_core.plugin import Clock, FixedWindowCounter, RateLimitResult, system_clock


class MemoryLimiter:
    """Counts in this process only; it is never unavailable.

    Args:
        capacity: keys counted in one window at most; beyond it the oldest ones start afresh.
        clock: gives the present.
    """

    def __init__(self, capacity: int, clock: Clock = system_clock) -> None:
        self._capacity = capacity
        self.use_clock(clock)

    def use_clock(self, clock: Clock) -> None:
        """Starts all windows afresh, by another clock."""
        self._windows = FixedWindowCounter(clock, self._capacity)

    async def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Counts one request against ``key`` in the current window."""
        return self._windows.consume(key, limit, window_seconds)
