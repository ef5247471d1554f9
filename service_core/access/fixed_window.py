"""Counting of requests in fixed windows of clock time."""

from typing import Final

from service_core.access.ports import RateLimitResult
from service_core.kernel.clock import Clock

COUNTER_CAPACITY: Final = 100_000


class FixedWindowCounter:
    """Counters of one process, kept in memory.

    A window of 60 seconds is a minute of the clock: all keys start at zero at the same instant, and the counters of the
    previous window are dropped together. If the clock is set back, a new window starts, so nobody stays locked out.

    Args:
        clock: current time.
        capacity: most counted keys per window length; beyond it the oldest ones start at zero.
    """

    def __init__(self, clock: Clock, capacity: int = COUNTER_CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._windows: dict[int, tuple[int, dict[str, int]]] = {}

    def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Counts one request for ``key``. Refused requests are not counted."""
        counts = self._counts_of_current_window(window_seconds)
        used = counts.get(key, 0)
        if used >= limit:
            return RateLimitResult(allowed=False, limit=limit, remaining=0)
        counts[key] = used + 1
        if len(counts) > self._capacity:
            del counts[next(iter(counts))]
        return RateLimitResult(allowed=True, limit=limit, remaining=limit - used - 1)

    def _counts_of_current_window(self, seconds: int) -> dict[str, int]:
        """Returns the counters of the current window; a new window starts with none and drops the previous one."""
        number = int(self._clock().timestamp()) // seconds
        window = self._windows.get(seconds)
        if window is not None and window[0] == number:
            return window[1]
        counts: dict[str, int] = {}
        self._windows[seconds] = number, counts
        return counts
