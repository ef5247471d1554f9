"""How a subscription stood, and what it was worth a month, from each instant on (semantics 16.6)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from itertools import zip_longest
from typing import Final

from service_core.commerce.subscriptions.model import Interval, SubscriptionState, SubscriptionStatus
from service_core.commerce.subscriptions.told import told

_IN_A_YEAR: Final = {
    Interval.DAY: 365,
    Interval.WEEK: 52,
    Interval.MONTH: 12,
    Interval.QUARTER: 4,
    Interval.YEAR: 1,
}
_MONTHS: Final = 12
_MOST: Final = 10**13
_LONGEST: Final = 1100
"""More minor units a month, or more intervals at a time, is nothing that is sold; Stripe sells 1,095 days."""


class Standing(StrEnum):
    """What a subscription counts as.

    A canceled one counts as before until the end of its last paid period, and as active when nothing
    was known before. One nobody named a price of is no paid one yet: what it is worth is not known.
    ``idle`` is paused, unpaid or incomplete.
    """

    TRIALING = "trialing"
    ACTIVE = "active"
    PAST_DUE = "past_due"
    IDLE = "idle"
    ENDED = "ended"


PAID: Final = frozenset({Standing.ACTIVE, Standing.PAST_DUE})
"""What has a worth."""

_STANDINGS: Final = {
    SubscriptionStatus.TRIALING: Standing.TRIALING,
    SubscriptionStatus.ACTIVE: Standing.ACTIVE,
    SubscriptionStatus.PAST_DUE: Standing.PAST_DUE,
    SubscriptionStatus.CANCELED: Standing.ACTIVE,
    SubscriptionStatus.EXPIRED: Standing.ENDED,
}
_OVER: Final = frozenset({SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED})


def month_of(state: SubscriptionState) -> Fraction | None:
    """What a price comes to in a month, in minor units, exactly; None while it is not known."""
    if state.amount is None or state.currency is None or state.interval is None:
        return None
    if not 1 <= state.interval_count <= _LONGEST:
        return None
    a_year = state.amount * state.quantity * _IN_A_YEAR[state.interval]
    month = Fraction(a_year, _MONTHS * state.interval_count)
    return month if abs(month) <= _MOST else None


@dataclass(frozen=True, slots=True)
class Stance:
    """A subscription from an instant on, until the next stance; ``state`` is what was known of it."""

    since: datetime
    standing: Standing
    state: SubscriptionState

    @property
    def is_paid(self) -> bool:
        """Whether it counts in recurring revenue."""
        return self.standing in PAID

    @property
    def worth(self) -> Fraction:
        """What it adds to recurring revenue in a month."""
        return (month_of(self.state) if self.is_paid else None) or Fraction(0)

    @property
    def status(self) -> SubscriptionStatus:
        """As the provider said; expired, when it only said when that would be."""
        said = self.state.status
        return SubscriptionStatus.EXPIRED if self.standing is Standing.ENDED and said not in _OVER else said


def stances(states: Iterable[SubscriptionState]) -> Iterator[Stance]:
    """How one subscription stood, oldest first; what another state replaced at once is left out.

    Args:
        states: of one subscription, each once, in any order.
    """
    known = list(told(sorted(states, key=lambda state: (state.at, state.message_id))))
    standing: Standing | None = None
    for state, following in zip_longest(known, known[1:]):
        if following is not None and following.at == state.at:
            continue
        standing, end = _standing_of(state, standing), state.ended_at
        yield Stance(state.at, standing, state)
        is_over_by_then = following is None or (end is not None and end < following.at)
        if standing is not Standing.ENDED and end is not None and is_over_by_then:
            standing = Standing.ENDED
            yield Stance(end, standing, state)


def _standing_of(state: SubscriptionState, before: Standing | None) -> Standing:
    end = state.ended_at
    is_canceled = state.status is SubscriptionStatus.CANCELED
    if (is_canceled and end is None) or (end is not None and end <= state.at):
        return Standing.ENDED
    if is_canceled and before is not None:
        return before
    standing = _STANDINGS.get(state.status, Standing.IDLE)
    return Standing.IDLE if standing in PAID and month_of(state) is None else standing


@dataclass(frozen=True, slots=True)
class Phase:
    """A run of stances of one status and start.

    Attributes:
        until: when the next one begins; None for the last.
        dead_since: since when it is over, if it is.
        started_at: when the subscription did.
    """

    since: datetime
    until: datetime | None
    status: SubscriptionStatus
    standing: Standing
    dead_since: datetime | None
    started_at: datetime


def phases(known: Iterable[Stance]) -> Iterator[Phase]:
    """A subscription's stances by status, from when it was first known to be alive."""
    runs = list(_runs(known))
    dead: datetime | None = None
    for run, following in zip_longest(runs, runs[1:]):
        dead = (dead or run.since) if run.standing is Standing.ENDED else None
        until = following.since if following else None
        started = run.state.started_at or runs[0].since
        yield Phase(run.since, until, run.status, run.standing, dead, started)


def _runs(known: Iterable[Stance]) -> Iterator[Stance]:
    """The first stance of each run."""
    last: Stance | None = None
    for stance in known:
        if last is None and stance.standing is Standing.ENDED:
            continue
        if last is None or _shown(last) != _shown(stance):
            yield stance
        last = stance


def _shown(stance: Stance) -> tuple[object, ...]:
    """What a phase is known by."""
    return stance.status, stance.standing, stance.state.started_at
