"""Fills missing fields of subscription states from earlier states."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from service_core.commerce.subscriptions.models import SubscriptionState


def carry_unreported_fields_forward(states: Iterable[SubscriptionState]) -> Iterator[SubscriptionState]:
    """States of one subscription as they add up to what is known of it.

    Unknown values stay None: the price of a trial, or of a subscription whose first message
    was its cancellation.

    Args:
        states: in order of time, ties by message.
    """
    return accumulate(states, _fill_unreported_fields_from_previous)


def _fill_unreported_fields_from_previous(
    previous: SubscriptionState, current: SubscriptionState
) -> SubscriptionState:
    priced = current if current.amount is not None or previous.amount is None else previous
    timed = current if current.interval is not None else previous
    named = current if current.product_id or current.plan else previous
    return replace(
        current,
        amount=priced.amount,
        currency=priced.currency or previous.currency,
        quantity=priced.quantity,
        interval=timed.interval,
        interval_count=timed.interval_count,
        started_at=current.started_at or previous.started_at,
        plan=named.plan,
        product_id=named.product_id,
        trial_ends_at=current.trial_ends_at or previous.trial_ends_at,
        current_period_end=current.current_period_end or previous.current_period_end,
        canceled_at=current.canceled_at or (previous.canceled_at if current.ended_at is not None else None),
        identity=current.identity or previous.identity,
    )
