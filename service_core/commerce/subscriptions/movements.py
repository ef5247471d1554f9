"""How subscriptions moved: what each change of one did to all figures of them (semantics 16.7).

Worth before an instant and all movements from there on add up to the worth after them, whatever they
are summed by: a change of plan or product takes the worth over to the other first.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Final

from service_core.commerce.subscriptions.model import DeedKind, SubscriptionDeed, SubscriptionState
from service_core.commerce.subscriptions.standing import Stance, Standing


class MovementKind(StrEnum):
    """What happened.

    A subscription is ``new`` when it is paid for the first time, and ``reactivation`` each time it is
    paid again; ``churn`` is whatever ended that: its last paid period was over, or it was paused.
    """

    NEW = "new"
    EXPANSION = "expansion"
    CONTRACTION = "contraction"
    CHURN = "churn"
    REACTIVATION = "reactivation"
    TRANSFER = "transfer"
    TRIAL_STARTED = "trial_started"
    TRIAL_ENDED = "trial_ended"
    TRIAL_CONVERTED = "trial_converted"
    CHARGE = "charge"
    FAILED_PAYMENT = "failed_payment"


@dataclass(frozen=True, slots=True)
class Movement:
    """One change.

    Attributes:
        worth: what it adds to the recurring revenue of a month, in minor units; below zero when it takes.
        live: what it adds to the number of paid subscriptions.
        amount: what was charged.
    """

    at: datetime
    kind: MovementKind
    provider: str
    product: str | None
    plan: str | None
    currency: str | None
    worth: Fraction = Fraction(0)
    live: int = 0
    amount: int = 0


def movements(known: Sequence[Stance], deeds: Iterable[SubscriptionDeed]) -> list[Movement]:
    """Every movement of one subscription, in order of time.

    Args:
        known: how it stood.
        deeds: its own, each once, in any order.
    """
    told = sorted(deeds, key=lambda deed: (deed.at, deed.message_id))
    found = [*_paid(known), *_trials(known), *_converted(known, told), *_done(known, told)]
    return sorted(found, key=lambda movement: movement.at)


def _paid(known: Sequence[Stance]) -> Iterator[Movement]:
    """What became of its worth."""
    was_paid = False
    for before, now in pairwise((None, *known)):
        if now is None:
            continue
        if before is not None and before.is_paid:
            yield from (
                _changed(before, now) if now.is_paid else (_taken(MovementKind.CHURN, now.since, before),)
            )
        elif now.is_paid:
            yield _given(MovementKind.REACTIVATION if was_paid else MovementKind.NEW, now)
        was_paid = was_paid or now.is_paid


def _changed(before: Stance, now: Stance) -> Iterator[Movement]:
    if before.state.currency != now.state.currency:
        yield _taken(MovementKind.CONTRACTION, now.since, before)
        yield _given(MovementKind.EXPANSION, now)
        return
    if _named(before.state) != _named(now.state):
        yield _taken(MovementKind.TRANSFER, now.since, before)
        yield _of(MovementKind.TRANSFER, now.since, now.state, before.worth, 1)
    gain = now.worth - before.worth
    kind = MovementKind.EXPANSION if gain > 0 else MovementKind.CONTRACTION
    if before.worth.denominator != now.worth.denominator:
        yield _of(kind, now.since, now.state, -before.worth)  # apart: a store keeps whole parts of a unit
        yield _of(kind, now.since, now.state, now.worth)
    elif gain:
        yield _of(kind, now.since, now.state, gain)


def _given(kind: MovementKind, now: Stance) -> Movement:
    return _of(kind, now.since, now.state, now.worth, 1)


def _taken(kind: MovementKind, at: datetime, before: Stance) -> Movement:
    return _of(kind, at, before.state, -before.worth, -1)


def _of(
    kind: MovementKind, at: datetime, state: SubscriptionState, worth: Fraction = Fraction(0), live: int = 0
) -> Movement:
    return Movement(at, kind, state.provider, *_named(state), state.currency, worth, live)


def _named(state: SubscriptionState) -> tuple[str | None, str | None]:
    return state.product_id, state.plan


_ON_TRIAL: Final = Standing.TRIALING


def _trials(known: Sequence[Stance]) -> Iterator[Movement]:
    for before, now in pairwise((None, *known)):
        was_on_trial = before is not None and before.standing is _ON_TRIAL
        if now is None or was_on_trial is (now.standing is _ON_TRIAL):
            continue
        if before is not None and was_on_trial:
            yield _of(MovementKind.TRIAL_ENDED, now.since, before.state)
        else:
            yield _of(MovementKind.TRIAL_STARTED, now.since, now.state)


def _converted(known: Sequence[Stance], deeds: Sequence[SubscriptionDeed]) -> Iterator[Movement]:
    """The first payment for a trial that was not ended, once it is a trial no more."""
    paid = [deed.at for deed in deeds if deed.kind is DeedKind.CHARGE and deed.amount]
    started: datetime | None = None
    for place, (before, now) in enumerate(pairwise((None, *known))):
        if now is None:
            continue
        if now.standing is _ON_TRIAL:
            started = started or now.since
        elif before is not None and started is not None:
            end = _over(known[place:])
            first = next((at for at in paid if at >= started), None)
            if first is not None and (end is None or max(first, now.since) < end):
                yield _of(MovementKind.TRIAL_CONVERTED, max(first, now.since), before.state)
            started = None


def _over(known: Iterable[Stance]) -> datetime | None:
    """When a subscription ended, or was on trial again."""
    return next((one.since for one in known if one.standing in (Standing.ENDED, _ON_TRIAL)), None)


def _done(known: Sequence[Stance], deeds: Sequence[SubscriptionDeed]) -> Iterator[Movement]:
    """Charges, and those that failed, of what the subscription was for at the time."""
    since = [stance.since for stance in known]
    for deed in deeds:
        place = max(bisect_right(since, deed.at) - 1, 0)
        of = known[place].state if known else None
        product, plan = _named(of) if of else (None, None)
        currency = deed.currency or (of.currency if of else None)
        is_charge = deed.kind is DeedKind.CHARGE
        kind = MovementKind.CHARGE if is_charge else MovementKind.FAILED_PAYMENT
        amount = (deed.amount or 0) if is_charge else 0
        yield Movement(deed.at, kind, deed.provider, product, plan, currency, amount=amount)
