"""Random histories of subscriptions: reports of two providers in random order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Final

from hypothesis import strategies as st

from service_core.commerce.subscriptions.models import (
    Interval,
    PaymentKind,
    SubscriptionPayment,
    SubscriptionState,
    SubscriptionStatus,
)

_PROVIDERS: Final = ("till", "app_store")
_PLANS: Final = (None, "basic", "pro")
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_OFTEN: Final = 0.6
_SELDOM: Final = 0.2
_WHOLE: Final = (Interval.MONTH, Interval.QUARTER, Interval.YEAR)
_TWELVE: Final = 12
"""Prices are multiples of it, so that a yearly price is a whole number of minor units per month."""


@dataclass(frozen=True, slots=True)
class SubscriptionHistories:
    """The reported states and payments of several subscriptions.

    Attributes:
        has_whole_monthly_amounts: whether every monthly amount is a whole number of minor units.
    """

    states: tuple[SubscriptionState, ...]
    deeds: tuple[SubscriptionPayment, ...]
    exact: bool


def random_histories(
    start: datetime, days: int, currency: str = "USD"
) -> st.SearchStrategy[SubscriptionHistories]:
    """Returns a strategy of one to eight subscriptions within some days, with or without fractional monthly amounts."""
    return st.builds(
        lambda draw, number, exact: _random_histories(draw, start, days, currency, number, exact=exact),
        st.randoms(use_true_random=False),
        st.integers(1, 8),
        st.booleans(),
    )


def _random_histories(
    draw: Random, start: datetime, days: int, currency: str, number: int, *, exact: bool
) -> SubscriptionHistories:
    subscriptions = [
        _random_subscription(draw, f"sub_{n}", start, days, currency, exact=exact) for n in range(number)
    ]
    states = [state for reported_states, _ in subscriptions for state in reported_states]
    payments = [payment for _, reported in subscriptions for payment in reported]
    draw.shuffle(states)
    draw.shuffle(payments)
    return SubscriptionHistories(tuple(states), tuple(payments), exact)


def _random_subscription(
    draw: Random, name: str, start: datetime, days: int, currency: str, *, exact: bool
) -> tuple[list[SubscriptionState], list[SubscriptionPayment]]:
    times = sorted(start + _DAY * draw.randrange(days) + _HOUR * draw.randrange(24) for _ in range(5))
    first_state = SubscriptionState(
        draw.choice(_PROVIDERS),
        "account",
        name,
        "",
        times[0],
        SubscriptionStatus.ACTIVE,
        None,
        currency,
        None,
        times[0],
        trial_ends_at=times[0] + 7 * _DAY if draw.random() < _OFTEN else None,
        identity=(("visitor_id", f"V-{name}"),),
    )
    states = [
        _next_state(draw, replace(first_state, message_id=f"{name}-{index}", at=at), exact=exact)
        for index, at in enumerate(times[: draw.randint(1, 5)])
    ]
    return states, list(_random_payments(draw, first_state, times))


def _next_state(draw: Random, state: SubscriptionState, *, exact: bool) -> SubscriptionState:
    status = draw.choice(tuple(SubscriptionStatus))
    is_over = status in (SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED)
    end = state.at + _DAY * draw.choice((0, 3, 20))
    return replace(
        state,
        status=status,
        amount=None if draw.random() < _SELDOM else draw.randrange(0, 50) * _TWELVE,
        interval=draw.choice(_WHOLE if exact else tuple(Interval)),
        interval_count=1 if exact else draw.choice((1, 1, 2)),
        quantity=draw.choice((1, 1, 3)),
        plan=draw.choice(_PLANS),
        product_id=draw.choice(("app", None)),
        current_period_end=state.at + 30 * _DAY,
        canceled_at=state.at if is_over else None,
        ended_at=end if is_over and draw.random() > _SELDOM else None,
        test=draw.random() < _SELDOM / 4,
    )


def _random_payments(
    draw: Random, bought: SubscriptionState, moments: list[datetime]
) -> Iterator[SubscriptionPayment]:
    for index, at in enumerate(moments):
        kind = draw.choice(tuple(PaymentKind))
        amount = draw.choice((None, 500)) if kind is PaymentKind.FAILED_PAYMENT else draw.choice((0, 1200))
        if draw.random() < _OFTEN:
            yield SubscriptionPayment(
                bought.provider,
                bought.account_id,
                bought.subscription_id,
                f"{bought.subscription_id}-d{index}",
                at,
                kind,
                amount,
                bought.currency if amount is not None else None,
            )
