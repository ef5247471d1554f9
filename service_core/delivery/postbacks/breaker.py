"""How a queue stands: whether its account may be called now, and what a call changes about that."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from service_core.delivery.postbacks.ports import Throttle

FAILURES: Final = 3
"""Calls in a row without an answer that close a queue."""

_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class AccountState:
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

    def is_open(self, now: datetime) -> bool:
        """Whether a call may be made."""
        return self.closed_until is None or self.closed_until <= now


def counted(state: AccountState, throttle: Throttle, now: datetime) -> AccountState:
    """With one more call; the last one there may be closes the queue until the stretch is over."""
    begun = state.counted_from
    if begun is None or now - begun >= throttle.per:
        state = replace(state, counted_from=now, calls=0)
        begun = now
    state = replace(state, calls=state.calls + 1)
    return _closed(state, begun + throttle.per) if state.calls >= throttle.calls else state


def answered(state: AccountState) -> AccountState:
    """After a call that was answered, whatever the answer."""
    return replace(state, failures=0, refused=False)


def unanswered(state: AccountState, now: datetime, retry_after: float | None) -> AccountState:
    """After a call that failed: several in a row close the queue, each further one for twice as long."""
    state = replace(state, failures=state.failures + 1)
    beyond = state.failures - FAILURES
    if beyond >= 0:
        state = _closed(state, now + min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(beyond, 10))))
    return state if retry_after is None else _closed(state, now + timedelta(seconds=retry_after))


def refused(state: AccountState) -> AccountState:
    """After a call whose credentials were refused."""
    return replace(state, refused=True)


def _closed(state: AccountState, until: datetime) -> AccountState:
    before = state.closed_until
    return replace(state, closed_until=until if before is None else max(before, until))
