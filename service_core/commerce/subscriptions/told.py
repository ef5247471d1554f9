"""States of one subscription, each with what it left out taken from those before it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from service_core.commerce.subscriptions.model import SubscriptionState


def told(states: Iterable[SubscriptionState]) -> Iterator[SubscriptionState]:
    """States of one subscription as they add up to what is known of it.

    What nobody said yet stays None: the price of a trial, or of a subscription whose first message
    was its cancellation.

    Args:
        states: in order of time, ties by message.
    """
    return accumulate(states, _after)


def _after(before: SubscriptionState, state: SubscriptionState) -> SubscriptionState:
    priced = state if state.amount is not None or before.amount is None else before
    timed = state if state.interval is not None else before
    named = state if state.product_id or state.plan else before
    return replace(
        state,
        amount=priced.amount,
        currency=priced.currency or before.currency,
        quantity=priced.quantity,
        interval=timed.interval,
        interval_count=timed.interval_count,
        started_at=state.started_at or before.started_at,
        plan=named.plan,
        product_id=named.product_id,
        trial_ends_at=state.trial_ends_at or before.trial_ends_at,
        current_period_end=state.current_period_end or before.current_period_end,
        canceled_at=state.canceled_at or (before.canceled_at if state.ended_at is not None else None),
        identity=state.identity or before.identity,
    )
