"""A circuit breaker: after some failures in a row nobody waits any more, but for one try a second."""

import time
from collections.abc import Callable
from typing import Final

FAILURE_THRESHOLD: Final = 3
"""Failures in a row that open the circuit."""

PROBE_SECONDS: Final = 1.0
"""Time between two tries while it is open."""


class CircuitBreaker:
    """Tells whether a call may be tried, from how the last ones ended.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._next_try = 0.0

    def may_try(self) -> bool:
        """Whether to call now. While the circuit is open, the True of each second makes its caller the probe."""
        if self._failures < FAILURE_THRESHOLD:
            return True
        now = self._clock()
        if now < self._next_try:
            return False
        self._next_try = now + PROBE_SECONDS
        return True

    def record_success(self) -> None:
        """The call was answered: close the circuit."""
        self._failures = 0

    def record_failure(self) -> None:
        """The call was not answered; with the third in a row the circuit opens."""
        self._failures += 1
        if self._failures == FAILURE_THRESHOLD:
            self._next_try = self._clock() + PROBE_SECONDS
