"""Counting in fixed windows of the wall clock: the rule behind every budget (contract 14)."""

from typing import Final

from service_core.access.ports import RateLimitResult
from service_core.kernel.clock import Clock

COUNTER_CAPACITY: Final = 100_000


class FixedWindowCounter:
    """Counters of one process, kept in memory.

    A window of 60 seconds is a minute of the clock, so every key starts afresh at the same instant
    and last window's counters are dropped together. A clock that is set back starts a new window:
    nobody stays locked out.

    Args:
        clock: gives the present.
        capacity: keys counted per window length; beyond it the oldest ones start afresh.
    """

    def __init__(self, clock: Clock, capacity: int = COUNTER_CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._windows: dict[int, tuple[int, dict[str, int]]] = {}

    def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Count one request against ``key``; refused ones do not count on."""
        counts = self._current_counts(window_seconds)
        used = counts.get(key, 0)
        if used >= limit:
            return RateLimitResult(allowed=False, limit=limit, remaining=0)
        counts[key] = used + 1
        if len(counts) > self._capacity:
            del counts[next(iter(counts))]
        return RateLimitResult(allowed=True, limit=limit, remaining=limit - used - 1)

    def _current_counts(self, seconds: int) -> dict[str, int]:
        """Counters of the window that is open now."""
        number = int(self._clock().timestamp()) // seconds
        kept = self._windows.get(seconds)
        if kept is not None and kept[0] == number:
            return kept[1]
        counts: dict[str, int] = {}
        self._windows[seconds] = number, counts
        return counts
