"""The circuit breaker of a transform: one that keeps failing for a workspace is not called for its events for a while."""

from collections.abc import Callable
from typing import Final

OPEN_SECONDS: Final = 30.0
"""How long a transform that kept failing is not called; then one event tries it again."""

_FAILURE_WEIGHT: Final = 3
_OPEN_AT: Final = 15
"""Five failures in a row, or more than a quarter of the calls over a while."""


class CircuitBreaker:
    """Counts failures and successes of calls; open means that no call is made.

    Args:
        monotonic: seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._score = 0
        self._open_until: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls are left out now; False again when the next call may try."""
        return self._open_until is not None and self._monotonic() < self._open_until

    def record_success(self) -> None:
        """Counts a call that worked; one after a break ends the break."""
        if self._open_until is not None:
            self._score, self._open_until = 0, None
        elif self._score:
            self._score -= 1

    def record_failure(self) -> None:
        """Counts a call that failed; it may open the breaker."""
        self._score = min(self._score + _FAILURE_WEIGHT, _OPEN_AT)
        if self._score == _OPEN_AT:
            self._open_until = self._monotonic() + OPEN_SECONDS
