"""RevenueCat: what its messages say, by the fields it documents."""

import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest

from plugins import revenue_revenuecat
from plugins.revenue_revenuecat.adapter import RevenueCat
from plugins.revenue_revenuecat.mapping import map_message
from service_core.commerce.subscriptions.models import Interval, PaymentKind, SubscriptionStatus
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance, Sample

JULY = datetime(2026, 7, 1, tzinfo=UTC)
AUGUST = datetime(2026, 8, 1, tzinfo=UTC)


def milliseconds(instant):
    return int(instant.timestamp() * 1000)


def revenuecat_event(kind, **columns):
    fields = {
        "id": f"{kind}-1",
        "type": kind,
        "event_timestamp_ms": milliseconds(JULY + timedelta(seconds=4)),
        "app_id": "app1",
        "app_user_id": "user_1234",
        "original_app_user_id": "$RCAnonymousID:87c6",
        "aliases": ["$RCAnonymousID:8069"],
        "subscriber_attributes": {
            "$email": {"value": "ann@example.com", "updated_at_ms": milliseconds(JULY)},
            "touchpoint_id": {"value": "visitor-7", "updated_at_ms": milliseconds(JULY)},
        },
        "product_id": "pro_monthly",
        "entitlement_ids": ["pro"],
        "period_type": "NORMAL",
        "purchased_at_ms": milliseconds(JULY),
        "expiration_at_ms": milliseconds(AUGUST),
        "environment": "PRODUCTION",
        "store": "APP_STORE",
        "transaction_id": "1002",
        "original_transaction_id": "1000",
        "currency": "EUR",
        "price": 0.0,
        "price_in_purchased_currency": 0.0,
        "commission_percentage": 0.3,
        "tax_percentage": 0.1597,
        "takehome_percentage": 0.7,
    }
    return {"api_version": "1.0", "event": fields | columns}


PAID = {"price": 11.71, "price_in_purchased_currency": 9.99}
REFUNDED = {"price": -11.71, "price_in_purchased_currency": -9.99, "cancel_reason": "CUSTOMER_SUPPORT"}
TRANSFER = {
    "api_version": "1.0",
    "event": {
        "id": "TRANSFER-1",
        "type": "TRANSFER",
        "event_timestamp_ms": milliseconds(JULY),
        "app_id": "app1",
        "environment": "PRODUCTION",
        "store": "APP_STORE",
        "transferred_from": ["$RCAnonymousID:8069"],
        "transferred_to": ["$RCAnonymousID:9999", "user_1234"],
    },
}
SAMPLES = (
    Sample(revenuecat_event("INITIAL_PURCHASE", **PAID), "subscription_started", revenue=999),
    Sample(revenuecat_event("INITIAL_PURCHASE", id="trial", period_type="TRIAL"), "trial_started"),
    Sample(revenuecat_event("RENEWAL", **PAID), "subscription_renewed", revenue=999),
    Sample(
        revenuecat_event("RENEWAL", id="paid", is_trial_conversion=True, **PAID),
        "trial_converted",
        revenue=999,
    ),
    Sample(revenuecat_event("NON_RENEWING_PURCHASE", expiration_at_ms=None, **PAID), "purchase", revenue=999),
    Sample(revenuecat_event("CANCELLATION", cancel_reason="UNSUBSCRIBE"), "subscription_cancelled"),
    Sample(revenuecat_event("CANCELLATION", id="refund", **REFUNDED), "subscription_cancelled", revenue=-999),
    Sample(revenuecat_event("UNCANCELLATION"), "subscription_reactivated"),
    Sample(revenuecat_event("EXPIRATION", expiration_reason="UNSUBSCRIBE"), "subscription_expired"),
    Sample(revenuecat_event("BILLING_ISSUE"), "billing_failed"),
    Sample(revenuecat_event("PRODUCT_CHANGE", new_product_id="pro_yearly"), "subscription_changed"),
    Sample(revenuecat_event("SUBSCRIPTION_PAUSED"), "subscription_paused"),
    Sample(revenuecat_event("SUBSCRIPTION_EXTENDED"), "subscription_extended"),
    Sample(TRANSFER, "subscription_transferred"),
    Sample(revenuecat_event("REFUND_REVERSED", **PAID), "refund_reversed", revenue=999),
    Sample(
        revenuecat_event("RENEWAL", id="sandbox", environment="SANDBOX"),
        "subscription_renewed",
        test=True,
        revenue=0,
    ),
)


class TestRevenueCat(RevenueProviderConformance):
    """The kit."""

    @pytest.fixture
    def harness(self):
        return ProviderHarness(
            RevenueCat(),
            {"webhook_secret": "Bearer planted-password"},
            lambda _body, secrets, _sent: {"authorization": secrets["webhook_secret"]},
            samples=SAMPLES,
            unknown=Sample(revenuecat_event("TEMPORARY_ENTITLEMENT_GRANT"), None),
            signs_body=False,
            signs_time=False,
        )


class TestSignedRevenueCat(RevenueProviderConformance):
    """The kit, for who lets RevenueCat sign."""

    @pytest.fixture
    def harness(self):
        return ProviderHarness(
            RevenueCat(),
            {"webhook_secret": "Bearer planted-password", "signing_secret": "planted-key"},
            sign_delivery,
            samples=SAMPLES[:1],
            unknown=Sample(revenuecat_event("TEST"), None),
        )


def sign_delivery(body, secrets, sent):
    stamp = str(int(sent.timestamp()))
    key, signs = secrets["signing_secret"].encode(), f"{stamp}.".encode() + body
    return {
        "authorization": secrets["webhook_secret"],
        "x-revenuecat-webhook-signature": f"t={stamp},v1={hmac.new(key, signs, 'sha256').hexdigest()}",
    }


def map_event(kind, **fields):
    return map_message(revenuecat_event(kind, **fields), "app1")


def map_single_state(kind, **fields):
    (state,) = map_event(kind, **fields).states
    return state


def test_provider_is_registered_by_the_plugin():
    registry = collect_plugins_into_registry(
        [("revenue_revenuecat", revenue_revenuecat)], discover_entry_points=False
    )
    assert list(registry.revenue_providers) == ["revenuecat"]


def test_purchase_has_price_interval_and_customer():
    result = map_event("INITIAL_PURCHASE", **PAID)
    assert result.occurred_at == JULY
    assert result.identity == {"visitor_id": "visitor-7", "user_id": "user_1234", "email": "ann@example.com"}
    assert result.external_ids == {"revenuecat": "$RCAnonymousID:87c6"}
    state = result.states[0]
    assert (state.subscription_id, state.status) == ("1000", SubscriptionStatus.ACTIVE)
    assert (state.amount, state.currency, state.interval) == (999, "EUR", Interval.MONTH)
    assert (state.plan, state.product_id) == ("pro", "pro_monthly")
    assert (state.started_at, state.current_period_end) == (JULY, AUGUST)
    assert result.payments[0].kind is PaymentKind.CHARGE
    assert (result.payments[0].amount, result.payments[0].currency, result.payments[0].at) == (
        999,
        "EUR",
        JULY,
    )


def test_amounts_are_in_the_paid_currency_with_the_store_fee():
    result = map_event("RENEWAL", **PAID).properties
    assert (result["revenue"], result["currency"], result["order_id"]) == ("9.99", "EUR", "1002")
    assert (result["fee"], result["shipping"]) == ("3.00", "0")
    assert "discount" not in result
    assert (result["tax_percentage"], result["takehome_percentage"]) == ("0.1597", "0.7")
    assert "tax" not in result


def test_prices_are_parsed_as_decimals():
    for written, minor in (("0.29", 29), ("1.005", 100), ("1.015", 102), ("4.35", 435), ("1e2", 10_000)):
        message = json.loads(json.dumps(revenuecat_event("RENEWAL")).replace("0.0,", f"{written},"))
        result = map_message(message, "app1")
        assert result.payments[0].amount == minor, written


def test_price_without_a_currency_is_in_dollars():
    result = map_event("RENEWAL", price=11.71, price_in_purchased_currency=None, currency=None)
    assert (result.properties["revenue"], result.properties["currency"]) == ("11.71", "USD")
    unknown = map_event("RENEWAL", price=None, price_in_purchased_currency=None)
    assert "revenue" not in unknown.properties
    assert (unknown.states[0].amount, unknown.payments) == (None, ())


def test_trial_ends_with_its_period_without_a_price():
    state = map_single_state(
        "INITIAL_PURCHASE", period_type="TRIAL", expiration_at_ms=milliseconds(JULY + timedelta(days=7))
    )
    assert (state.status, state.amount, state.interval) == (SubscriptionStatus.TRIALING, None, None)
    assert state.trial_ends_at == JULY + timedelta(days=7)
    assert map_event("INITIAL_PURCHASE", period_type="TRIAL").payments == ()


def test_cancellation_ends_at_the_end_of_the_period():
    state = map_single_state("CANCELLATION", cancel_reason="UNSUBSCRIBE")
    assert (state.status, state.cancel_at_period_end) == (SubscriptionStatus.ACTIVE, True)
    assert (state.canceled_at, state.ended_at) == (JULY + timedelta(seconds=4), AUGUST)
    trial = map_single_state("CANCELLATION", cancel_reason="UNSUBSCRIBE", period_type="TRIAL")
    assert (trial.status, trial.ended_at) == (SubscriptionStatus.TRIALING, AUGUST)


def test_failed_payment_is_past_due_and_counted_once():
    issue, cancellation = map_event("BILLING_ISSUE"), map_event("CANCELLATION", cancel_reason="BILLING_ERROR")
    for result in (issue, cancellation):
        assert result.states[0].status is SubscriptionStatus.PAST_DUE
        assert not result.states[0].cancel_at_period_end
    assert [deed.kind for deed in issue.payments] == [PaymentKind.FAILED_PAYMENT]
    assert issue.payments[0].amount is None
    assert cancellation.payments == ()


def test_refund_reverses_its_order_and_ends_the_subscription():
    running = map_event("CANCELLATION", **REFUNDED)
    assert (running.properties["revenue"], running.properties["order_id"]) == ("-9.99", "1002")
    assert (running.states, running.payments) == ((), ())
    over = map_event("CANCELLATION", expiration_at_ms=milliseconds(JULY), **REFUNDED)
    assert (over.states[0].status, over.states[0].ended_at) == (SubscriptionStatus.EXPIRED, JULY)
    once = map_event("CANCELLATION", expiration_at_ms=None, **REFUNDED)
    assert once.states == ()


def test_reversed_refund_is_a_charge_that_repeats_no_order():
    result = map_event("REFUND_REVERSED", **PAID)
    assert (result.properties["revenue"], result.properties["reversed_order_id"]) == ("9.99", "1002")
    assert "order_id" not in result.properties
    assert result.payments[0].amount == 999


def test_pause_begins_when_the_paid_period_ends():
    state = map_single_state("SUBSCRIPTION_PAUSED")
    assert (state.status, state.at) == (SubscriptionStatus.PAUSED, AUGUST)
    ended = map_single_state("EXPIRATION", expiration_reason="SUBSCRIPTION_PAUSED")
    assert (ended.status, ended.ended_at) == (SubscriptionStatus.PAUSED, None)


def test_expiration_ends_and_uncancellation_or_extension_continues_a_subscription():
    over = map_single_state("EXPIRATION", expiration_at_ms=milliseconds(JULY))
    assert (over.status, over.ended_at) == (SubscriptionStatus.EXPIRED, JULY)
    for kind in ("UNCANCELLATION", "SUBSCRIPTION_EXTENDED"):
        state = map_single_state(kind)
        assert (state.status, state.cancel_at_period_end) == (SubscriptionStatus.ACTIVE, False)
        assert (state.amount, state.current_period_end) == (None, AUGUST)


def test_product_change_applies_from_its_first_renewal():
    result = map_event("PRODUCT_CHANGE", new_product_id="pro_yearly")
    assert (result.states, result.payments) == ((), ())
    assert (result.properties["product_id"], result.properties["new_product_id"]) == (
        "pro_monthly",
        "pro_yearly",
    )


def test_transfer_sets_the_new_customer():
    result = map_message(TRANSFER, "app1")
    assert result.identity == {"user_id": "user_1234"}
    assert result.properties["transferred_from"] == ["$RCAnonymousID:8069"]
    assert result.states == ()


def test_anonymous_customer_is_identified_by_alias_or_external_id():
    anonymous = {"app_user_id": "$RCAnonymousID:1", "subscriber_attributes": {}}
    assert map_event("RENEWAL", aliases=["$RCAnonymousID:2", "user_9"], **anonymous).identity == {
        "user_id": "user_9"
    }
    nobody = map_event("RENEWAL", aliases=[], **anonymous)
    assert nobody.identity == {}
    assert nobody.external_ids == {"revenuecat": "$RCAnonymousID:87c6"}


def test_early_renewal_has_the_time_of_its_message():
    result = map_event(
        "RENEWAL",
        purchased_at_ms=milliseconds(AUGUST),
        expiration_at_ms=milliseconds(AUGUST + timedelta(days=31)),
        **PAID,
    )
    assert result.occurred_at == JULY + timedelta(seconds=4)


def test_unknown_event_type_is_refused_and_named():
    for message, missing in (
        ({}, "id"),
        ({"event": {"id": "1"}}, "type"),
        ({"event": {"type": "RENEWAL"}}, "id"),
    ):
        with pytest.raises(ValueError, match=missing):
            map_message(message, "app1")
    with pytest.raises(ValueError, match="event_timestamp_ms"):
        map_event("RENEWAL", event_timestamp_ms=None, purchased_at_ms=None)
