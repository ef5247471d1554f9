"""The limiter port over the core's own windows."""

from service_core.plugin import Allowance, Clock, FixedWindows, system_clock


class MemoryLimiter:
    """Counts in this process only; it is never down.

    Args:
        capacity: keys counted in one window at most; beyond it the oldest ones start afresh.
        clock: gives the present.
    """

    def __init__(self, capacity: int, clock: Clock = system_clock) -> None:
        self._windows = FixedWindows(clock, capacity)

    async def spend(self, key: str, limit: int, window_seconds: int) -> Allowance:
        """Count one request against ``key`` in the present window."""
        return self._windows.spend(key, limit, window_seconds)
