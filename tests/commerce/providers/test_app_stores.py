"""What messages about app stores say, whoever gathers them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from service_core.commerce.providers.app_stores.events import map_app_store
from service_core.commerce.providers.app_stores.model import AppStoreKind, AppStoreMessage
from service_core.commerce.providers.app_stores.periods import period_of
from service_core.commerce.subscriptions.model import Interval, SubscriptionStatus
from service_core.commerce.subscriptions.told import told
from service_core.insight.connections.providers import PROVIDERS

BEGUN = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "period"),
    [
        (1, (Interval.DAY, 1)),
        (3, (Interval.DAY, 3)),
        (7, (Interval.WEEK, 1)),
        (14, (Interval.WEEK, 2)),
        (24, (Interval.MONTH, 1)),
        (28, (Interval.MONTH, 1)),
        (31, (Interval.MONTH, 1)),
        (59, (Interval.MONTH, 2)),
        (92, (Interval.QUARTER, 1)),
        (181, (Interval.MONTH, 6)),
        (365, (Interval.YEAR, 1)),
        (366, (Interval.YEAR, 1)),
        (730, (Interval.YEAR, 2)),
    ],
)
def test_a_price_pays_for_the_nearest_period_that_is_sold(days, period):
    assert period_of(BEGUN, BEGUN + timedelta(days=days)) == period


def test_a_period_without_an_end_tells_no_interval():
    assert period_of(BEGUN, None) == (None, 1)
    assert period_of(BEGUN, BEGUN) == (None, 1)


def test_the_names_of_events_are_those_the_provider_is_known_for():
    kinds = {map_app_store(message(kind), "revenuecat", "a").event_name for kind in AppStoreKind}
    trials = {"trial_started", "trial_converted"}
    assert kinds | trials == set(PROVIDERS["revenuecat"].event_names)


def message(kind, day=0, **said):
    at = BEGUN + timedelta(days=day)
    return AppStoreMessage(
        id=f"m{day}",
        kind=kind,
        told_at=at,
        subscription_id="sub_1",
        transaction_id=f"t{day}",
        purchased_at=at,
        expires_at=at + timedelta(days=30),
        currency="USD",
        **said,
    )


def test_a_life_from_trial_to_expiration_keeps_its_price_and_its_start():
    paid = Decimal("9.99")
    life = (
        message(AppStoreKind.INITIAL_PURCHASE, trial=True, price=Decimal(0)),
        message(AppStoreKind.RENEWAL, 7, converts_trial=True, price=paid),
        message(AppStoreKind.BILLING_ISSUE, 37, price=Decimal(0)),
        message(AppStoreKind.RENEWAL, 39, price=paid),
        message(AppStoreKind.CANCELLATION, 50, price=Decimal(0), reason="UNSUBSCRIBE"),
        message(AppStoreKind.EXPIRATION, 69, price=Decimal(0), reason="UNSUBSCRIBE"),
    )
    states = [*told(state for one in life for state in map_app_store(one, "revenuecat", "a").states)]
    assert [state.status for state in states] == [
        SubscriptionStatus.TRIALING,
        SubscriptionStatus.ACTIVE,
        SubscriptionStatus.PAST_DUE,
        SubscriptionStatus.ACTIVE,
        SubscriptionStatus.ACTIVE,
        SubscriptionStatus.EXPIRED,
    ]
    assert [state.amount for state in states] == [None, 999, 999, 999, 999, 999]
    assert {state.started_at for state in states} == {BEGUN}
    assert {state.trial_ends_at for state in states} == {BEGUN + timedelta(days=30)}
    assert states[4].cancel_at_period_end
    assert states[5].ended_at == BEGUN + timedelta(days=99)


def test_a_period_that_costs_nothing_does_not_say_what_the_next_one_costs():
    (state,) = map_app_store(message(AppStoreKind.RENEWAL, price=Decimal(0)), "revenuecat", "a").states
    assert (state.status, state.amount) == (SubscriptionStatus.ACTIVE, None)
