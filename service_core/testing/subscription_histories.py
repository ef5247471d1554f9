"""Generated histories of subscriptions: messages a few providers might have sent, in no order."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from hypothesis import strategies as st

from service_core.commerce.subscriptions.model import (
    DeedKind,
    Interval,
    SubscriptionDeed,
    SubscriptionState,
    SubscriptionStatus,
)

_PROVIDERS: Final = ("stripe", "revenuecat")
_PLANS: Final = (None, "basic", "pro")
_DAY: Final = timedelta(days=1)
_TWELVE: Final = 12
"""Prices are multiples of it, so what a year costs comes to whole minor units a month."""


@dataclass(frozen=True, slots=True)
class Histories:
    """What was told of several subscriptions.

    Attributes:
        exact: whether every worth a month is of whole minor units.
    """

    states: tuple[SubscriptionState, ...]
    deeds: tuple[SubscriptionDeed, ...]
    exact: bool


def histories(start: datetime, days: int, currency: str = "USD") -> st.SearchStrategy[Histories]:
    """Up to eight subscriptions in a span of days; a few are worth what is no whole amount a month."""
    return st.builds(
        lambda draw, number, exact: _told(draw, start, days, currency, number, exact=exact),
        st.randoms(use_true_random=False),
        st.integers(1, 8),
        st.booleans(),
    )


def _told(draw: Random, start: datetime, days: int, currency: str, number: int, *, exact: bool) -> Histories:
    told = [_one(draw, f"sub_{n}", start, days, currency, exact=exact) for n in range(number)]
    states = [state for of_one, _ in told for state in of_one]
    deeds = [deed for _, of_one in told for deed in of_one]
    draw.shuffle(states)
    draw.shuffle(deeds)
    return Histories(tuple(states), tuple(deeds), exact)


def _one(
    draw: Random, name: str, start: datetime, days: int, currency: str, *, exact: bool
) -> tuple[list[SubscriptionState], list[SubscriptionDeed]]:
    provider = draw.choice(_PROVIDERS)
    moments = sorted(
        start + _DAY * draw.randrange(days) + timedelta(hours=draw.randrange(24)) for _ in "12345"
    )
    states = [
        _state(draw, provider, name, place, at, moments[0], currency, exact=exact)
        for place, at in enumerate(moments[: draw.randint(1, 5)])
    ]
    deeds = list(_deeds(draw, provider, name, moments, currency))
    return states, deeds


def _state(
    draw: Random,
    provider: str,
    name: str,
    place: int,
    at: datetime,
    started_at: datetime,
    currency: str,
    *,
    exact: bool,
) -> SubscriptionState:
    intervals = (Interval.MONTH, Interval.QUARTER, Interval.YEAR) if exact else tuple(Interval)
    status = draw.choice(tuple(SubscriptionStatus))
    is_over = status in (SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED)
    unsaid = draw.random() < 0.2  # noqa: PLR2004 - one in five
    return SubscriptionState(
        provider,
        "account",
        name,
        f"{name}-{place}",
        at,
        status,
        None if unsaid else draw.randrange(0, 50) * _TWELVE,
        currency,
        draw.choice(intervals),
        started_at,
        interval_count=draw.choice((1, 1, 2)) if not exact else 1,
        quantity=draw.choice((1, 1, 3)),
        plan=draw.choice(_PLANS),
        product_id=draw.choice(("app", None)),
        trial_ends_at=started_at + 7 * _DAY if draw.random() < 0.5 else None,  # noqa: PLR2004 - one in two
        current_period_end=at + 30 * _DAY,
        canceled_at=at if is_over else None,
        ended_at=at + _DAY * draw.choice((0, 3, 20)) if is_over and draw.random() < 0.8 else None,  # noqa: PLR2004
        identity=(("visitor_id", f"V-{name}"),),
        test=draw.random() < 0.05,  # noqa: PLR2004 - one in twenty
    )


def _deeds(
    draw: Random, provider: str, name: str, moments: list[datetime], currency: str
) -> Iterator[SubscriptionDeed]:
    for place, at in enumerate(moments):
        kind = draw.choice(tuple(DeedKind))
        amount = draw.choice((None, 500)) if kind is DeedKind.FAILED_PAYMENT else draw.choice((0, 1200))
        if draw.random() < 0.6:  # noqa: PLR2004 - three in five
            said = currency if amount is not None else None
            yield SubscriptionDeed(provider, "account", name, f"{name}-d{place}", at, kind, amount, said)
