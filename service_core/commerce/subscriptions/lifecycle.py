"""Computes lifecycle status and MRR of a subscription over time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from itertools import zip_longest
from typing import Final

from service_core.commerce.subscriptions.merge_states import carry_unreported_fields_forward
from service_core.commerce.subscriptions.models import Interval, SubscriptionState, SubscriptionStatus

_INTERVALS_PER_YEAR: Final = {
    Interval.DAY: 365,
    Interval.WEEK: 52,
    Interval.MONTH: 12,
    Interval.QUARTER: 4,
    Interval.YEAR: 1,
}
_MONTHS_PER_YEAR: Final = 12
_MRR_LIMIT: Final = 10**13
_MAX_INTERVAL_COUNT: Final = 1100
"""More minor units a month, or more intervals at a time, is nothing that is sold."""


class LifecycleStatus(StrEnum):
    """Status a subscription counts as.

    A canceled one counts as before until the end of its last paid period, and as active when nothing
    was known before. One without a known price is not a paid one yet.
    ``idle`` is paused, unpaid or incomplete.
    """

    TRIALING = "trialing"
    ACTIVE = "active"
    PAST_DUE = "past_due"
    IDLE = "idle"
    ENDED = "ended"


PAID: Final = frozenset({LifecycleStatus.ACTIVE, LifecycleStatus.PAST_DUE})
"""Statuses with recurring revenue."""

_LIFECYCLE_STATUS: Final = {
    SubscriptionStatus.TRIALING: LifecycleStatus.TRIALING,
    SubscriptionStatus.ACTIVE: LifecycleStatus.ACTIVE,
    SubscriptionStatus.PAST_DUE: LifecycleStatus.PAST_DUE,
    SubscriptionStatus.CANCELED: LifecycleStatus.ACTIVE,
    SubscriptionStatus.EXPIRED: LifecycleStatus.ENDED,
}
_ENDING_STATUSES: Final = frozenset({SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED})


def monthly_price_if_known(state: SubscriptionState) -> Fraction | None:
    """Returns the price per month as an exact fraction of minor units; None if it is unknown."""
    if state.amount is None or state.currency is None or state.interval is None:
        return None
    if not 1 <= state.interval_count <= _MAX_INTERVAL_COUNT:
        return None
    a_year = state.amount * state.quantity * _INTERVALS_PER_YEAR[state.interval]
    month = Fraction(a_year, _MONTHS_PER_YEAR * state.interval_count)
    return month if abs(month) <= _MRR_LIMIT else None


@dataclass(frozen=True, slots=True)
class LifecycleState:
    """Lifecycle status and known fields of a subscription, valid from ``since`` until the next state."""

    since: datetime
    lifecycle_status: LifecycleStatus
    state: SubscriptionState

    @property
    def is_paid(self) -> bool:
        """Returns whether it counts in recurring revenue."""
        return self.lifecycle_status in PAID

    @property
    def mrr(self) -> Fraction:
        """Returns the MRR in minor units; 0 if it is not paid."""
        return (monthly_price_if_known(self.state) if self.is_paid else None) or Fraction(0)

    @property
    def reported_or_expired_status(self) -> SubscriptionStatus:
        """Returns the reported status; expired after the reported end."""
        reported = self.state.status
        return (
            SubscriptionStatus.EXPIRED
            if self.lifecycle_status is LifecycleStatus.ENDED and reported not in _ENDING_STATUSES
            else reported
        )


def lifecycle_states(states: Iterable[SubscriptionState]) -> Iterator[LifecycleState]:
    """Yields the lifecycle states of one subscription, oldest first; states replaced at the same instant are omitted.

    Args:
        states: of one subscription, each once, in any order.
    """
    known = list(
        carry_unreported_fields_forward(sorted(states, key=lambda state: (state.at, state.message_id)))
    )
    standing: LifecycleStatus | None = None
    for state, following in zip_longest(known, known[1:]):
        if following is not None and following.at == state.at:
            continue
        standing, end = _lifecycle_status_given_previous(state, standing), state.ended_at
        yield LifecycleState(state.at, standing, state)
        is_over_by_then = following is None or (end is not None and end < following.at)
        if standing is not LifecycleStatus.ENDED and end is not None and is_over_by_then:
            standing = LifecycleStatus.ENDED
            yield LifecycleState(end, standing, state)


def _lifecycle_status_given_previous(
    state: SubscriptionState, previous: LifecycleStatus | None
) -> LifecycleStatus:
    end = state.ended_at
    is_canceled = state.status is SubscriptionStatus.CANCELED
    if (is_canceled and end is None) or (end is not None and end <= state.at):
        return LifecycleStatus.ENDED
    if is_canceled and previous is not None:
        return previous
    standing = _LIFECYCLE_STATUS.get(state.status, LifecycleStatus.IDLE)
    return LifecycleStatus.IDLE if standing in PAID and monthly_price_if_known(state) is None else standing


@dataclass(frozen=True, slots=True)
class StatusPeriod:
    """A period in which status and start of a subscription are the same.

    Attributes:
        until: when the next one begins; None for the last.
        dead_since: since when it is over, if it is.
        started_at: when the subscription did.
    """

    since: datetime
    until: datetime | None
    status: SubscriptionStatus
    lifecycle_status: LifecycleStatus
    dead_since: datetime | None
    started_at: datetime


def status_periods_since_first_alive(states: Iterable[LifecycleState]) -> Iterator[StatusPeriod]:
    """Yields periods of equal status, from when the subscription was first alive."""
    runs = list(_first_states_of_periods(states))
    dead: datetime | None = None
    for run, following in zip_longest(runs, runs[1:]):
        dead = (dead or run.since) if run.lifecycle_status is LifecycleStatus.ENDED else None
        until = following.since if following else None
        started = run.state.started_at or runs[0].since
        yield StatusPeriod(
            run.since, until, run.reported_or_expired_status, run.lifecycle_status, dead, started
        )


def _first_states_of_periods(states: Iterable[LifecycleState]) -> Iterator[LifecycleState]:
    """Yields the first state of each period."""
    last: LifecycleState | None = None
    for state in states:
        if last is None and state.lifecycle_status is LifecycleStatus.ENDED:
            continue
        if last is None or _period_key(last) != _period_key(state):
            yield state
        last = state


def _period_key(stance: LifecycleState) -> tuple[object, ...]:
    """Returns what is equal within a period."""
    return stance.reported_or_expired_status, stance.lifecycle_status, stance.state.started_at
