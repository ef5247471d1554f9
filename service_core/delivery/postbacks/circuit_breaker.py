"""How a queue stands: whether its account may be called now, and what a call changes about that."""

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
    """What is known of a queue's account; it outlives processes.

    Attributes:
        failures: calls in a row that were not answered.
        closed_until: nothing is sent before.
        refused: the credentials were; it waits for somebody to connect the platform again.
        counted_from, calls: when the present stretch of the throttle began, and the calls in it.
    """

    failures: int = 0
    closed_until: datetime | None = None
    refused: bool = False
    counted_from: datetime | None = None
    calls: int = 0

    def allows_call(self, now: datetime) -> bool:
        """Whether a call may be made."""
        return self.closed_until is None or self.closed_until <= now


def record_call(health: AccountHealth, throttle: Throttle, now: datetime) -> AccountHealth:
    """With one more call; the last one there may be closes the queue until the stretch is over."""
    begun = health.counted_from
    if begun is None or now - begun >= throttle.per:
        health = replace(health, counted_from=now, calls=0)
        begun = now
    health = replace(health, calls=health.calls + 1)
    return _paused_until(health, begun + throttle.per) if health.calls >= throttle.calls else health


def record_success(health: AccountHealth) -> AccountHealth:
    """After a call that was answered, whatever the answer."""
    return replace(health, failures=0, refused=False)


def record_failure(health: AccountHealth, now: datetime, retry_after: float | None) -> AccountHealth:
    """After a call that failed: several in a row close the queue, each further one for twice as long."""
    health = replace(health, failures=health.failures + 1)
    beyond = health.failures - FAILURE_THRESHOLD
    if beyond >= 0:
        health = _paused_until(health, now + min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(beyond, 10))))
    return health if retry_after is None else _paused_until(health, now + timedelta(seconds=retry_after))


def record_auth_failure(health: AccountHealth) -> AccountHealth:
    """After a call whose credentials were refused."""
    return replace(health, refused=True)


def _paused_until(state: AccountHealth, until: datetime) -> AccountHealth:
    before = state.closed_until
    return replace(state, closed_until=until if before is None else max(before, until))
