"""Computes the movements of a subscription: changes of MRR, trials and payments.

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

from service_core.commerce.subscriptions.lifecycle import LifecycleState, LifecycleStatus
from service_core.commerce.subscriptions.models import PaymentKind, SubscriptionPayment, SubscriptionState


class MovementKind(StrEnum):
    """A change of a subscription's recurring revenue.

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
        mrr_delta: change of MRR in minor units.
        active_delta: change of the number of paid subscriptions.
        amount: what was charged.
    """

    at: datetime
    kind: MovementKind
    provider: str
    product: str | None
    plan: str | None
    currency: str | None
    mrr_delta: Fraction = Fraction(0)
    active_delta: int = 0
    amount: int = 0


def subscription_movements(
    states: Sequence[LifecycleState], payments: Iterable[SubscriptionPayment]
) -> list[Movement]:
    """Returns all movements of one subscription in order of time.

    Args:
        states: its lifecycle states, oldest first.
        payments: its payments, each once, in any order.
    """
    ordered_payments = sorted(payments, key=lambda payment: (payment.at, payment.message_id))
    movements = [
        *_mrr_movements(states),
        *_trial_start_and_end_movements(states),
        *_trial_conversion_movements(states, ordered_payments),
        *_payment_movements(states, ordered_payments),
    ]
    return sorted(movements, key=lambda movement: movement.at)


def _mrr_movements(states: Sequence[LifecycleState]) -> Iterator[Movement]:
    """Yields the changes of MRR."""
    was_paid = False
    for before, now in pairwise((None, *states)):
        if now is None:
            continue
        if before is not None and before.is_paid:
            yield from (
                _movements_between_paid_states(before, now)
                if now.is_paid
                else (_loss_movement(MovementKind.CHURN, now.since, before),)
            )
        elif now.is_paid:
            yield _gain_movement(MovementKind.REACTIVATION if was_paid else MovementKind.NEW, now)
        was_paid = was_paid or now.is_paid


def _movements_between_paid_states(before: LifecycleState, now: LifecycleState) -> Iterator[Movement]:
    if before.state.currency != now.state.currency:
        yield _loss_movement(MovementKind.CONTRACTION, now.since, before)
        yield _gain_movement(MovementKind.EXPANSION, now)
        return
    if _product_and_plan(before.state) != _product_and_plan(now.state):
        yield _loss_movement(MovementKind.TRANSFER, now.since, before)
        yield _movement(MovementKind.TRANSFER, now.since, now.state, before.mrr, 1)
    gain = now.mrr - before.mrr
    kind = MovementKind.EXPANSION if gain > 0 else MovementKind.CONTRACTION
    if before.mrr.denominator != now.mrr.denominator:
        yield _movement(kind, now.since, now.state, -before.mrr)  # apart: a store keeps whole parts of a unit
        yield _movement(kind, now.since, now.state, now.mrr)
    elif gain:
        yield _movement(kind, now.since, now.state, gain)


def _gain_movement(kind: MovementKind, now: LifecycleState) -> Movement:
    return _movement(kind, now.since, now.state, now.mrr, 1)


def _loss_movement(kind: MovementKind, at: datetime, before: LifecycleState) -> Movement:
    return _movement(kind, at, before.state, -before.mrr, -1)


def _movement(
    kind: MovementKind, at: datetime, state: SubscriptionState, worth: Fraction = Fraction(0), live: int = 0
) -> Movement:
    return Movement(at, kind, state.provider, *_product_and_plan(state), state.currency, worth, live)


def _product_and_plan(state: SubscriptionState) -> tuple[str | None, str | None]:
    return state.product_id, state.plan


_TRIALING: Final = LifecycleStatus.TRIALING


def _trial_start_and_end_movements(states: Sequence[LifecycleState]) -> Iterator[Movement]:
    for before, now in pairwise((None, *states)):
        was_on_trial = before is not None and before.lifecycle_status is _TRIALING
        if now is None or was_on_trial is (now.lifecycle_status is _TRIALING):
            continue
        if before is not None and was_on_trial:
            yield _movement(MovementKind.TRIAL_ENDED, now.since, before.state)
        else:
            yield _movement(MovementKind.TRIAL_STARTED, now.since, now.state)


def _trial_conversion_movements(
    states: Sequence[LifecycleState], payments: Sequence[SubscriptionPayment]
) -> Iterator[Movement]:
    """Yields the conversion of each trial: its first payment, once the trial is over."""
    paid = [payment.at for payment in payments if payment.kind is PaymentKind.CHARGE and payment.amount]
    started: datetime | None = None
    for place, (before, now) in enumerate(pairwise((None, *states))):
        if now is None:
            continue
        if now.lifecycle_status is _TRIALING:
            started = started or now.since
        elif before is not None and started is not None:
            end = _first_end_or_trial_time(states[place:])
            first = next((at for at in paid if at >= started), None)
            if first is not None and (end is None or max(first, now.since) < end):
                yield _movement(MovementKind.TRIAL_CONVERTED, max(first, now.since), before.state)
            started = None


def _first_end_or_trial_time(states: Iterable[LifecycleState]) -> datetime | None:
    """Returns when a subscription ended or was in a trial again."""
    return next(
        (state.since for state in states if state.lifecycle_status in (LifecycleStatus.ENDED, _TRIALING)),
        None,
    )


def _payment_movements(
    states: Sequence[LifecycleState], payments: Sequence[SubscriptionPayment]
) -> Iterator[Movement]:
    """Yields charges and failed payments, with product and plan of the state at their time."""
    since = [lifecycle.since for lifecycle in states]
    for payment in payments:
        place = max(bisect_right(since, payment.at) - 1, 0)
        state = states[place].state if states else None
        product, plan = _product_and_plan(state) if state else (None, None)
        currency = payment.currency or (state.currency if state else None)
        is_charge = payment.kind is PaymentKind.CHARGE
        kind = MovementKind.CHARGE if is_charge else MovementKind.FAILED_PAYMENT
        amount = (payment.amount or 0) if is_charge else 0
        yield Movement(payment.at, kind, payment.provider, product, plan, currency, amount=amount)
