"""A circuit breaker: after some failures in a row only one call a second is tried."""

import time
from collections.abc import Callable
from typing import Final

FAILURE_THRESHOLD: Final = 3
"""Failures in a row that open the circuit."""

PROBE_SECONDS: Final = 1.0
"""Time between two tries while it is open."""


class CircuitBreaker:
    """Decides whether a call may be tried, by the results of the last ones.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._next_try = 0.0

    def may_call_or_probe_once_a_second(self) -> bool:
        """Returns whether to call now; while the circuit is open, True once a second."""
        if self._failures < FAILURE_THRESHOLD:
            return True
        now = self._clock()
        if now < self._next_try:
            return False
        self._next_try = now + PROBE_SECONDS
        return True

    def record_success(self) -> None:
        """Records an answered call: closes the circuit."""
        self._failures = 0

    def record_failure(self) -> None:
        """Records a failed call; the third in a row opens the circuit."""
        self._failures += 1
        if self._failures == FAILURE_THRESHOLD:
            self._next_try = self._clock() + PROBE_SECONDS
