"""Circuit breaker of a platform account: when calls are allowed, and how a call changes that."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from service_core.delivery.postbacks.ports import Throttle

FAILURE_THRESHOLD: Final = 3
"""Calls in a row without an answer that close a queue."""

_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class AccountHealth:
    """State of a platform account between calls; stored with its queue.

    Attributes:
        failures: consecutive calls without an answer.
        closed_until: no call is made before this time.
        refused: the credentials were rejected; the platform has to be connected again.
        counted_from, calls: start of the current rate limit window, and number of calls in it.
    """

    failures: int = 0
    closed_until: datetime | None = None
    refused: bool = False
    counted_from: datetime | None = None
    calls: int = 0

    def allows_call(self, now: datetime) -> bool:
        """Returns whether a call may be made now."""
        return self.closed_until is None or self.closed_until <= now


def record_call_and_pause_at_limit(health: AccountHealth, throttle: Throttle, now: datetime) -> AccountHealth:
    """Returns the state after one more call; reaching the rate limit pauses the queue until the window ends."""
    begun = health.counted_from
    if begun is None or now - begun >= throttle.per:
        health = replace(health, counted_from=now, calls=0)
        begun = now
    health = replace(health, calls=health.calls + 1)
    return _paused_until(health, begun + throttle.per) if health.calls >= throttle.calls else health


def record_success(health: AccountHealth) -> AccountHealth:
    """Returns the state after a call that was answered."""
    return replace(health, failures=0, refused=False)


def record_failure_and_pause_after_several(
    health: AccountHealth, now: datetime, retry_after: float | None
) -> AccountHealth:
    """Returns the state after a failed call; repeated failures pause the queue for increasing times."""
    health = replace(health, failures=health.failures + 1)
    beyond = health.failures - FAILURE_THRESHOLD
    if beyond >= 0:
        health = _paused_until(health, now + min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(beyond, 10))))
    return health if retry_after is None else _paused_until(health, now + timedelta(seconds=retry_after))


def record_auth_failure(health: AccountHealth) -> AccountHealth:
    """Returns the state after a call whose credentials were rejected."""
    return replace(health, refused=True)


def _paused_until(state: AccountHealth, until: datetime) -> AccountHealth:
    before = state.closed_until
    return replace(state, closed_until=until if before is None else max(before, until))
