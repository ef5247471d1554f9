"""Stripe as a revenue provider: who signed a message, and what it says."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from plugins.revenue_stripe.adapter import Stripe
from plugins.revenue_stripe.amounts import format_amount, to_minor_units
from plugins.revenue_stripe.mapping import MAPPERS_BY_TYPE, map_message
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.commerce.subscriptions.models import Interval, PaymentKind, SubscriptionStatus
from service_core.plugin import WebhookDelivery
from service_core.testing.ingestion_stubs import NOON
from service_core.testing.revenue_provider import ACCOUNT, ProviderHarness, RevenueProviderConformance, Sample

SECRETS = {"webhook_secret": "whsec_planted"}
HOUR_AGO = int((NOON - timedelta(hours=1)).timestamp())


def sign_delivery(body, secrets, sent):
    stamp = str(int(sent.timestamp()))
    return {
        "stripe-signature": f"t={stamp},v1={hmac_sha256(secrets['webhook_secret'], f'{stamp}.'.encode() + body).hex()}"
    }


def stripe_message(kind, about, *, id_=None, before=None, live=True):
    return {
        "id": id_ or f"evt_{kind}", "created": HOUR_AGO, "livemode": live, "type": kind,
        "data": {"object": about} | ({"previous_attributes": before} if before else {}),
    }  # fmt: skip


PAYMENT = {
    "id": "pi_1", "object": "payment_intent", "amount_received": 5950, "currency": "eur", "customer": "cus_1",
    "metadata": {"visitor_id": "anon_1", "user_id": "u_1"}, "receipt_email": "ann@example.com",
}  # fmt: skip
INVOICE = {
    "id": "in_1", "object": "invoice", "amount_paid": 3570, "amount_due": 3570, "subtotal": 4000, "currency": "usd",
    "customer": "cus_1", "customer_email": "ann@example.com", "billing_reason": "subscription_cycle",
    "parent": {"subscription_details": {"subscription": "sub_1", "metadata": {"visitor_id": "anon_1"}}},
    "total_taxes": [{"amount": 400}, {"amount": 170}], "total_discount_amounts": [{"amount": 1000}],
    "attempt_count": 2,
}  # fmt: skip
SESSION = {
    "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": "paid", "amount_total": 6450,
    "currency": "eur", "customer": "cus_1", "payment_intent": "pi_1", "client_reference_id": "anon_1",
    "customer_details": {"email": "ann@example.com"},
    "total_details": {"amount_tax": 950, "amount_shipping": 500, "amount_discount": 0},
}  # fmt: skip
CHARGE = {
    "id": "ch_1", "object": "charge", "amount_refunded": 3000, "currency": "eur", "customer": "cus_1",
    "payment_intent": "pi_1",
}  # fmt: skip
DISPUTE = {
    "id": "dp_1", "object": "dispute", "amount": 5950, "currency": "eur", "charge": "ch_1",
    "payment_intent": "pi_1", "status": "lost", "reason": "fraudulent",
}  # fmt: skip
PRICE = {
    "id": "price_1", "unit_amount": 1200, "product": "prod_1", "nickname": "Team",
    "recurring": {"interval": "month", "interval_count": 1, "usage_type": "licensed"},
}  # fmt: skip
SUBSCRIPTION = {
    "id": "sub_1", "object": "subscription", "status": "active", "currency": "usd", "customer": "cus_1",
    "start_date": HOUR_AGO, "current_period_end": HOUR_AGO + 2_592_000, "cancel_at_period_end": False,
    "items": {"data": [{"price": PRICE, "quantity": 3}]},
}  # fmt: skip
TRIAL = SUBSCRIPTION | {"status": "trialing", "trial_end": HOUR_AGO + 604_800}
CUSTOMER = {"id": "cus_1", "object": "customer", "email": "ann@example.com", "metadata": {"user_id": "u_1"}}

SAMPLES = (
    Sample(stripe_message("payment_intent.succeeded", PAYMENT), "purchase", revenue=5950),
    Sample(stripe_message("payment_intent.succeeded", PAYMENT, id_="evt_t", live=False), "purchase", test=True, revenue=5950),
    Sample(stripe_message("invoice.payment_succeeded", INVOICE), "purchase", revenue=3000),
    Sample(stripe_message("invoice.payment_failed", INVOICE), "billing_failed"),
    Sample(stripe_message("checkout.session.completed", SESSION), "purchase", revenue=5000),
    Sample(
        stripe_message("charge.refunded", CHARGE, before={"amount_refunded": 1000}), "refund", revenue=-2000
    ),
    Sample(stripe_message("charge.dispute.closed", DISPUTE), "refund", revenue=-5950),
    Sample(stripe_message("customer.subscription.created", SUBSCRIPTION), "subscription_started"),
    Sample(stripe_message("customer.subscription.created", TRIAL, id_="evt_trial"), "trial_started"),
    Sample(stripe_message("customer.subscription.updated", SUBSCRIPTION), "subscription_changed"),
    Sample(stripe_message("customer.subscription.deleted", SUBSCRIPTION), "subscription_cancelled"),
    Sample(stripe_message("customer.created", CUSTOMER), None),
)  # fmt: skip
SENDER = ProviderHarness(
    Stripe(),
    SECRETS,
    sign_delivery,
    SAMPLES,
    unknown=Sample(stripe_message("payout.paid", {"id": "po_1"}), None),
)


class TestStripe(RevenueProviderConformance):
    @pytest.fixture
    def harness(self):
        return SENDER


def map_message_of(kind, about, **more):
    return map_message(stripe_message(kind, about, **more), ACCOUNT)


def test_every_mapped_event_type_has_a_conformance_sample():
    assert {sample.body["type"] for sample in SAMPLES} == set(MAPPERS_BY_TYPE)


def test_old_and_new_secret_are_accepted_during_a_roll():
    body = json.dumps(SAMPLES[0].body).encode()
    old, new = (
        sign_delivery(body, {"webhook_secret": key}, NOON)["stripe-signature"] for key in ("old", "new")
    )
    both = {"stripe-signature": f"{old},{new.partition(',')[2]},v0=abc"}
    for secret, genuine in (("old", True), ("new", True), ("other", False)):
        delivery = WebhookDelivery(both, body, NOON)
        assert Stripe().verify_signature(delivery, {"webhook_secret": secret}) is genuine


def test_repeated_timestamp_in_the_header_is_refused():
    delivery = SENDER.make_delivery(SAMPLES[0])
    header = delivery.headers["stripe-signature"]
    doubled = replace(delivery, headers={"stripe-signature": f"t=1,{header}"})
    assert not Stripe().verify_signature(doubled, SECRETS)


@pytest.mark.parametrize(
    ("amount", "currency", "text", "own"),
    [
        (5950, "EUR", "59.50", 5950), (500, "JPY", "500", 500), (500, "ISK", "5.00", 5), (700, "UGX", "7.00", 7),
        (5000, "MGA", "5000", 500_000), (10_050, "KWD", "10.050", 10_050), (1, "USD", "0.01", 1),
    ],
)  # fmt: skip
def test_amounts_are_in_the_units_stripe_uses(amount, currency, text, own):
    assert (format_amount(Decimal(amount), currency), to_minor_units(Decimal(amount), currency)) == (
        text,
        own,
    )


def test_messages_of_one_payment_share_order_and_person():
    reported = [
        map_message_of("payment_intent.succeeded", PAYMENT),
        map_message_of("checkout.session.completed", SESSION),
        map_message_of("charge.refunded", CHARGE),
        map_message_of("charge.dispute.closed", DISPUTE),
    ]
    assert {one.properties["order_id"] for one in reported} == {"pi_1"}
    assert {one.external_ids["stripe_payment"] for one in reported} == {"pi_1"}


@pytest.mark.parametrize(
    "about",
    [{"invoice": "in_1"}, {"payment_details": {"order_reference": "in_1"}}, {"invoice": {"id": "in_1"}}],
)
def test_invoice_payment_has_the_invoice_order_in_every_api_version(about):
    session = SESSION | {"mode": "subscription", "payment_intent": None, "invoice": "in_1"}
    reported = [
        map_message_of("payment_intent.succeeded", PAYMENT | about),
        map_message_of("invoice.payment_succeeded", INVOICE),
        map_message_of("checkout.session.completed", session),
        map_message_of("charge.refunded", CHARGE | about),
    ]
    assert {one.properties["order_id"] for one in reported} == {"in_1"}


def test_revenue_is_without_tax_and_shipping_and_after_discounts():
    session = map_message_of("checkout.session.completed", SESSION).properties
    assert {name: session[name] for name in ("revenue", "tax", "shipping", "discount", "currency")} == {
        "revenue": "50.00", "tax": "9.50", "shipping": "5.00", "discount": "0.00", "currency": "EUR",
    }  # fmt: skip
    invoice = map_message_of("invoice.payment_succeeded", INVOICE)
    assert (invoice.properties["revenue"], invoice.properties["tax"], invoice.properties["discount"]) == (
        "30.00", "5.70", "10.00",
    )  # fmt: skip
    (charged,) = invoice.payments
    assert (charged.kind, charged.amount, charged.currency, charged.subscription_id) == (
        PaymentKind.CHARGE, 3000, "USD", "sub_1",
    )  # fmt: skip
    assert "tax" not in map_message_of("payment_intent.succeeded", PAYMENT).properties


def test_invoice_parts_are_zero_when_stated_and_null_when_missing():
    none = {"total_taxes": [], "total_discount_amounts": [], "shipping_cost": None}
    result = map_message_of("invoice.payment_succeeded", INVOICE | none).properties
    assert [result[name] for name in ("discount", "tax", "shipping")] == ["0.00", "0.00", "0.00"]
    bare = {name: value for name, value in INVOICE.items() if not name.startswith("total_")}
    assert (
        not {"discount", "tax", "shipping"}
        & map_message_of("invoice.payment_succeeded", bare).properties.keys()
    )


@pytest.mark.parametrize(
    ("kind", "about", "own"),
    [
        ("payment_intent.succeeded", PAYMENT, "pi_1"),
        ("invoice.payment_succeeded", INVOICE, "in_1"),
        ("checkout.session.completed", SESSION, SESSION["payment_intent"]),
    ],
)
def test_order_id_in_metadata_is_the_order(kind, about, own):
    plain, named = (
        map_message_of(kind, {**about, "metadata": each}).properties for each in ({}, {"order_id": "1001"})
    )
    assert (plain["order_id"], named["order_id"]) == (own, "1001")
    assert named["payment_id"] == plain.get("payment_id", own)


def test_invoice_format_before_2025_is_mapped_equally():
    old = {name: value for name, value in INVOICE.items() if name not in {"parent", "total_taxes"}}
    old |= {
        "subscription": "sub_1", "payment_intent": "pi_9", "tax": 570,
        "subscription_details": {"metadata": {"visitor_id": "anon_1"}},
    }  # fmt: skip
    since, before = (
        map_message_of("invoice.payment_succeeded", INVOICE),
        map_message_of("invoice.payment_succeeded", old),
    )
    assert before.properties == {**since.properties, "payment_id": "pi_9"}
    assert (before.payments, before.identity) == (since.payments, since.identity)
    assert since.identity == {"visitor_id": "anon_1", "email": "ann@example.com"}


def test_zero_invoice_is_a_purchase_only_with_a_discount():
    nothing = INVOICE | {"amount_paid": 0, "total_taxes": []}
    trial = map_message_of(
        "invoice.payment_succeeded", nothing | {"subtotal": 0, "total_discount_amounts": []}
    )
    assert (trial.event_name, trial.payments, trial.is_unknown_kind) == (None, (), False)
    free = map_message_of(
        "invoice.payment_succeeded", nothing | {"total_discount_amounts": [{"amount": 4000}]}
    )
    assert (free.event_name, free.properties["revenue"]) == ("purchase", "0.00")


def test_failed_invoice_has_no_revenue_and_updates_its_subscription():
    failed = map_message_of("invoice.payment_failed", INVOICE)
    assert (failed.properties["amount_due"], "revenue" in failed.properties) == ("35.70", False)
    assert [(deed.kind, deed.amount) for deed in failed.payments] == [(PaymentKind.FAILED_PAYMENT, 3000)]


@pytest.mark.parametrize(
    ("changes", "event_name"),
    [
        ({"payment_status": "unpaid"}, None),
        ({"payment_status": "no_payment_required", "amount_total": 0, "total_details": {}}, "purchase"),
        ({"payment_status": "no_payment_required", "mode": "subscription"}, None),
        ({"mode": "setup", "payment_status": "no_payment_required"}, None),
    ],
)
def test_unpaid_checkout_has_person_ids(changes, event_name):
    result = map_message_of("checkout.session.completed", SESSION | changes)
    assert (result.event_name, result.identity["visitor_id"]) == (event_name, "anon_1")
    assert result.external_ids == {
        "stripe": "cus_1",
        "stripe_payment": "pi_1",
        "stripe_checkout_session": "cs_1",
    }


def test_won_dispute_becomes_no_event():
    assert map_message_of("charge.dispute.closed", DISPUTE | {"status": "won"}).is_unknown_kind


def test_several_refunds_have_their_own_amounts():
    first = map_message_of("charge.refunded", CHARGE | {"amount_refunded": 1000})
    second = map_message_of("charge.refunded", CHARGE, before={"amount_refunded": 1000})
    assert [one.properties["revenue"] for one in (first, second)] == ["-10.00", "-20.00"]


def subscription_object(**changes):
    (result,) = map_message_of("customer.subscription.updated", SUBSCRIPTION | changes).states
    return result


def subscription_items(*prices):
    return {"data": [{"price": PRICE | price, "quantity": quantity} for price, quantity in prices]}


def test_subscription_state_is_mapped():
    result = subscription_object()
    assert (result.status, result.amount, result.currency, result.quantity) == (
        SubscriptionStatus.ACTIVE,
        1200,
        "USD",
        3,
    )
    assert (result.interval, result.interval_count, result.plan, result.product_id) == (
        Interval.MONTH,
        1,
        "Team",
        "prod_1",
    )
    assert result.started_at == datetime.fromtimestamp(HOUR_AGO, UTC)
    assert result.current_period_end == result.started_at + timedelta(days=30)


@pytest.mark.parametrize("name", ["discount", "discounts"])
def test_permanent_discounts_reduce_the_price_and_others_do_not(name):
    def off(**coupon):
        discount = {"coupon": {"duration": "forever", **coupon}}
        result = subscription_object(**{name: discount if name == "discount" else [discount]})
        return result.amount, result.quantity

    assert off(percent_off=25) == (900, 3)
    assert off(amount_off=600) == (3000, 1)
    assert off(percent_off=25, duration="repeating") == (1200, 3)
    assert off(amount_off=99_999) == (0, 1)


def test_several_items_are_summed_and_metered_ones_are_zero():
    yearly = {"unit_amount": 12_000, "recurring": {"interval": "year", "interval_count": 1}}
    metered = {"recurring": PRICE["recurring"] | {"usage_type": "metered"}}
    both = subscription_object(items=subscription_items(({}, 2), (yearly, 1), (metered, None)))
    assert (both.amount, both.quantity, both.interval) == (2400 + 1000, 1, Interval.MONTH)
    parts = subscription_object(
        items=subscription_items(({"unit_amount": None, "unit_amount_decimal": "0.5"}, 1000))
    )
    assert (parts.amount, parts.quantity) == (500, 1)
    assert subscription_object(items=subscription_items(({"unit_amount": None}, 1))).amount is None
    assert subscription_object(items={"data": []}).interval is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cancel_at_period_end": True}, True),
        ({"cancel_at": SUBSCRIPTION["current_period_end"]}, True),
        ({"cancel_at": HOUR_AGO}, False),
        ({}, False),
    ],
)
def test_cancellation_at_period_end_is_recognised_in_every_form(changes, expected):
    assert subscription_object(**changes).cancel_at_period_end is expected


def test_period_end_is_read_from_items_since_2025():
    ends = {"data": [{"price": PRICE, "quantity": 1, "current_period_end": HOUR_AGO + n} for n in (5, 9)]}
    result = subscription_object(items=ends, current_period_end=None)
    assert result.current_period_end == datetime.fromtimestamp(HOUR_AGO + 9, UTC)


@pytest.mark.parametrize("status", ["trialing", "past_due", "paused", "canceled", "unpaid", "incomplete"])
def test_every_subscription_status_is_mapped(status):
    assert subscription_object(status=status).status == status
    assert subscription_object(status="incomplete_expired").status is SubscriptionStatus.EXPIRED


def test_connected_account_is_read_from_messages():
    result = map_message(
        {**stripe_message("customer.subscription.created", SUBSCRIPTION), "account": "acct_9"}, ACCOUNT
    )
    assert [state.account_id for state in result.states] == ["acct_9"]


def test_paid_invoice_lists_items_in_every_api_version():
    pricing = {"price_details": {"product": "prod_1", "price": "price_1"}, "unit_amount_decimal": "1250.5"}
    lines = [
        {"amount": 2501, "quantity": 2, "pricing": pricing},
        {
            "amount": 0,
            "quantity": 1,
            "price": {"id": "price_2", "product": "prod_2", "unit_amount_decimal": "0"},
        },
        {"amount": -900, "quantity": 1, "pricing": pricing},
        {"amount": 500, "quantity": None},
    ]

    def listed(**data):
        return map_message_of("invoice.payment_succeeded", INVOICE | {"lines": data}).properties.get("items")

    assert listed(data=lines, has_more=False) == [
        {"product_id": "prod_1", "variant_id": "price_1", "quantity": 2, "price": "12.505"},
        {"product_id": "prod_2", "variant_id": "price_2", "quantity": 1, "price": "0.00"},
        {},
    ]
    assert listed(data=lines, has_more=True) is None
    assert listed(data=[]) is None
