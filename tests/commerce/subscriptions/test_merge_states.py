"""What a state of a subscription leaves out holds as it was said before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from service_core.commerce.subscriptions.merge_states import carry_unreported_fields_forward
from service_core.commerce.subscriptions.models import Interval, SubscriptionState, SubscriptionStatus

START = datetime(2026, 7, 1, tzinfo=UTC)
STATE_WITHOUT_DETAILS = SubscriptionState(
    "revenuecat", "app", "sub_1", "m", START, SubscriptionStatus.ACTIVE, None, None, None, None
)  # fmt: skip


def state_of_day(day, status=SubscriptionStatus.ACTIVE, **fields):
    return replace(
        STATE_WITHOUT_DETAILS, message_id=f"m{day}", at=START + timedelta(days=day), status=status, **fields
    )


def test_cancellation_without_a_price_keeps_the_purchase_price():
    bought = state_of_day(
        0, amount=999, currency="USD", interval=Interval.YEAR, started_at=START, quantity=2, product_id="pro"
    )
    ended = state_of_day(9, currency="EUR", cancel_at_period_end=True, canceled_at=START + timedelta(days=9))
    _, after = carry_unreported_fields_forward([bought, ended])
    assert (after.amount, after.currency, after.quantity) == (999, "USD", 2)
    assert (after.interval, after.started_at, after.product_id) == (Interval.YEAR, START, "pro")
    assert after.cancel_at_period_end
    assert after.canceled_at is not None


def test_trial_price_is_unknown_until_the_first_payment():
    trial = state_of_day(
        0, SubscriptionStatus.TRIALING, currency="USD", trial_ends_at=START + timedelta(days=7)
    )
    paid = state_of_day(7, amount=999, currency="USD", interval=Interval.MONTH)
    first, second = carry_unreported_fields_forward([trial, paid])
    assert first.amount is None
    assert (second.amount, second.trial_ends_at) == (999, START + timedelta(days=7))


def test_new_product_does_not_keep_the_previous_plan_name():
    before = state_of_day(0, plan="Pro", product_id="pro_monthly")
    _, after = carry_unreported_fields_forward([before, state_of_day(1, product_id="pro_yearly")])
    assert (after.plan, after.product_id) == (None, "pro_yearly")


def test_end_date_is_set_by_an_end_and_cleared_by_a_renewal():
    canceled = state_of_day(3, canceled_at=START + timedelta(days=3), ended_at=START + timedelta(days=30))
    over = state_of_day(30, SubscriptionStatus.EXPIRED, ended_at=START + timedelta(days=30))
    assert [each.canceled_at for each in carry_unreported_fields_forward([canceled, over])] == [
        START + timedelta(days=3)
    ] * 2
    assert [each.canceled_at for each in carry_unreported_fields_forward([canceled, state_of_day(5)])][
        1
    ] is None
