"""What messages about app stores say, whoever gathers them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from plugins.revenue_revenuecat.adapter import RevenueCat
from service_core.commerce.providers.app_stores.billing_interval import nearest_billing_interval
from service_core.commerce.providers.app_stores.events import map_app_store_notification
from service_core.commerce.providers.app_stores.models import AppStoreNotification, NotificationKind
from service_core.commerce.subscriptions.merge_states import carry_unreported_fields_forward
from service_core.commerce.subscriptions.models import Interval, SubscriptionStatus

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
def test_price_is_assigned_to_the_nearest_standard_period(days, period):
    assert nearest_billing_interval(BEGUN, BEGUN + timedelta(days=days)) == period


def test_period_without_an_end_has_no_interval():
    assert nearest_billing_interval(BEGUN, None) == (None, 1)
    assert nearest_billing_interval(BEGUN, BEGUN) == (None, 1)


def test_mapped_event_names_are_declared_by_the_provider():
    kinds = {
        map_app_store_notification(app_store_message(kind), "revenuecat", "a").event_name
        for kind in NotificationKind
    }
    trials = {"trial_started", "trial_converted"}
    assert kinds | trials == set(RevenueCat().info.event_names)


def app_store_message(kind, day=0, **fields):
    at = BEGUN + timedelta(days=day)
    usual = {"purchased_at": at, "expires_at": at + timedelta(days=30), "currency": "USD"}
    return AppStoreNotification(
        id=f"m{day}",
        kind=kind,
        notified_at=at,
        subscription_id="sub_1",
        transaction_id=f"t{day}",
        **usual | fields,
    )


def test_subscription_from_trial_to_expiration_keeps_price_and_start():
    paid = Decimal("9.99")
    life = (
        app_store_message(NotificationKind.INITIAL_PURCHASE, trial=True, price=Decimal(0)),
        app_store_message(NotificationKind.RENEWAL, 7, converts_trial=True, price=paid),
        app_store_message(NotificationKind.BILLING_ISSUE, 37, price=Decimal(0)),
        app_store_message(NotificationKind.RENEWAL, 39, price=paid),
        app_store_message(NotificationKind.CANCELLATION, 50, price=Decimal(0), reason="UNSUBSCRIBE"),
        app_store_message(NotificationKind.EXPIRATION, 69, price=Decimal(0), reason="UNSUBSCRIBE"),
    )
    states = [
        *carry_unreported_fields_forward(
            state for one in life for state in map_app_store_notification(one, "revenuecat", "a").states
        )
    ]
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


def test_free_period_leaves_the_price_unknown():
    (state,) = map_app_store_notification(
        app_store_message(NotificationKind.RENEWAL, price=Decimal(0)), "revenuecat", "a"
    ).states
    assert (state.status, state.amount) == (SubscriptionStatus.ACTIVE, None)


@pytest.mark.parametrize(
    ("kind", "purchased_after_days", "occurred_after_days"),
    [
        (NotificationKind.RENEWAL, -2, -2),
        (NotificationKind.RENEWAL, 1, 0),
        (NotificationKind.NON_RENEWING_PURCHASE, 1, 0),
        (NotificationKind.CANCELLATION, -2, 0),
    ],
)
def test_purchase_occurred_when_it_was_charged_or_announced_whichever_came_first(
    kind, purchased_after_days, occurred_after_days
):
    message = app_store_message(
        kind, price=Decimal(5), purchased_at=BEGUN + timedelta(days=purchased_after_days)
    )
    mapped = map_app_store_notification(message, "revenuecat", "a")
    assert mapped.occurred_at == BEGUN + timedelta(days=occurred_after_days)


def test_trial_that_costs_something_is_an_active_subscription():
    for price, status in ((Decimal(0), SubscriptionStatus.TRIALING), (Decimal(1), SubscriptionStatus.ACTIVE)):
        message = app_store_message(NotificationKind.INITIAL_PURCHASE, trial=True, price=price)
        mapped = map_app_store_notification(message, "revenuecat", "a")
        assert [state.status for state in mapped.states] == [status]
        assert (mapped.event_name == "trial_started") is (price == 0)


@pytest.mark.parametrize("kind", [NotificationKind.CANCELLATION, NotificationKind.REFUND_REVERSED])
def test_what_never_ends_was_bought_once_and_has_no_subscription(kind):
    for ends, states in ((BEGUN + timedelta(days=30), 1), (None, 0)):
        mapped = map_app_store_notification(
            app_store_message(kind, expires_at=ends, price=Decimal(5)), "revenuecat", "a"
        )
        assert (len(mapped.states), len(mapped.payments)) == (states, states)


def test_message_of_a_sandbox_is_a_test_with_its_payment():
    for is_test in (True, False):
        message = app_store_message(NotificationKind.RENEWAL, price=Decimal(5), test=is_test)
        mapped = map_app_store_notification(message, "revenuecat", "a")
        assert (mapped.test, [payment.test for payment in mapped.payments]) == (is_test, [is_test])
