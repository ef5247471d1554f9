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
_INTERVALS_OF_WHOLE_MONTHS: Final = (Interval.MONTH, Interval.QUARTER, Interval.YEAR)
_PRICE_STEP: Final = 12
"""Prices are multiples of it, so that a yearly price is a whole number of minor units per month."""


@dataclass(frozen=True, slots=True)
class SubscriptionHistories:
    """The reported states and payments of several subscriptions.

    Attributes:
        has_whole_monthly_amounts: whether every monthly amount is a whole number of minor units.
    """

    states: tuple[SubscriptionState, ...]
    payments: tuple[SubscriptionPayment, ...]
    has_whole_monthly_amounts: bool


def random_subscription_histories(
    start: datetime, days: int, currency: str = "USD"
) -> st.SearchStrategy[SubscriptionHistories]:
    """Returns a strategy of one to eight subscriptions within some days, with or without fractional monthly amounts."""
    return st.builds(
        lambda draw, number, exact: _make_shuffled_histories(
            draw, start, days, currency, number, whole_monthly_amounts=exact
        ),
        st.randoms(use_true_random=False),
        st.integers(1, 8),
        st.booleans(),
    )


def _make_shuffled_histories(
    random: Random,
    start: datetime,
    days: int,
    currency: str,
    subscription_count: int,
    *,
    whole_monthly_amounts: bool,
) -> SubscriptionHistories:
    subscriptions = [
        _random_states_and_payments(
            random, f"sub_{n}", start, days, currency, whole_monthly_amounts=whole_monthly_amounts
        )
        for n in range(subscription_count)
    ]
    states = [state for reported_states, _ in subscriptions for state in reported_states]
    payments = [payment for _, reported in subscriptions for payment in reported]
    random.shuffle(states)
    random.shuffle(payments)
    return SubscriptionHistories(tuple(states), tuple(payments), whole_monthly_amounts)


def _random_states_and_payments(
    random: Random,
    subscription_id: str,
    start: datetime,
    days: int,
    currency: str,
    *,
    whole_monthly_amounts: bool,
) -> tuple[list[SubscriptionState], list[SubscriptionPayment]]:
    times = sorted(start + _DAY * random.randrange(days) + _HOUR * random.randrange(24) for _ in range(5))
    first_state = SubscriptionState(
        random.choice(_PROVIDERS),
        "account",
        subscription_id,
        "",
        times[0],
        SubscriptionStatus.ACTIVE,
        None,
        currency,
        None,
        times[0],
        trial_ends_at=times[0] + 7 * _DAY if random.random() < _OFTEN else None,
        identity=(("visitor_id", f"V-{subscription_id}"),),
    )
    states = [
        _randomize_status_price_and_period(
            random,
            replace(first_state, message_id=f"{subscription_id}-{index}", at=at),
            whole_monthly_amounts=whole_monthly_amounts,
        )
        for index, at in enumerate(times[: random.randint(1, 5)])
    ]
    return states, list(_random_payments_at_some_of(random, first_state, times))


def _randomize_status_price_and_period(
    random: Random, state: SubscriptionState, *, whole_monthly_amounts: bool
) -> SubscriptionState:
    status = random.choice(tuple(SubscriptionStatus))
    is_over = status in (SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED)
    end = state.at + _DAY * random.choice((0, 3, 20))
    return replace(
        state,
        status=status,
        amount=None if random.random() < _SELDOM else random.randrange(0, 50) * _PRICE_STEP,
        interval=random.choice(_INTERVALS_OF_WHOLE_MONTHS if whole_monthly_amounts else tuple(Interval)),
        interval_count=1 if whole_monthly_amounts else random.choice((1, 1, 2)),
        quantity=random.choice((1, 1, 3)),
        plan=random.choice(_PLANS),
        product_id=random.choice(("app", None)),
        current_period_end=state.at + 30 * _DAY,
        canceled_at=state.at if is_over else None,
        ended_at=end if is_over and random.random() > _SELDOM else None,
        test=random.random() < _SELDOM / 4,
    )


def _random_payments_at_some_of(
    random: Random, first_state: SubscriptionState, times: list[datetime]
) -> Iterator[SubscriptionPayment]:
    for index, at in enumerate(times):
        kind = random.choice(tuple(PaymentKind))
        amount = (
            random.choice((None, 500)) if kind is PaymentKind.FAILED_PAYMENT else random.choice((0, 1200))
        )
        if random.random() < _OFTEN:
            yield SubscriptionPayment(
                first_state.provider,
                first_state.account_id,
                first_state.subscription_id,
                f"{first_state.subscription_id}-d{index}",
                at,
                kind,
                amount,
                first_state.currency if amount is not None else None,
            )
