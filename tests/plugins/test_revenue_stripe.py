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


def signed(body, secrets, sent):
    stamp = str(int(sent.timestamp()))
    return {
        "stripe-signature": f"t={stamp},v1={hmac_sha256(secrets['webhook_secret'], f'{stamp}.'.encode() + body).hex()}"
    }


def message(kind, about, *, id_=None, before=None, live=True):
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
    Sample(message("payment_intent.succeeded", PAYMENT), "purchase", revenue=5950),
    Sample(message("payment_intent.succeeded", PAYMENT, id_="evt_t", live=False), "purchase", test=True, revenue=5950),
    Sample(message("invoice.payment_succeeded", INVOICE), "purchase", revenue=3000),
    Sample(message("invoice.payment_failed", INVOICE), "billing_failed"),
    Sample(message("checkout.session.completed", SESSION), "purchase", revenue=5000),
    Sample(
        message("charge.refunded", CHARGE, before={"amount_refunded": 1000}), "refund", revenue=-2000
    ),
    Sample(message("charge.dispute.closed", DISPUTE), "refund", revenue=-5950),
    Sample(message("customer.subscription.created", SUBSCRIPTION), "subscription_started"),
    Sample(message("customer.subscription.created", TRIAL, id_="evt_trial"), "trial_started"),
    Sample(message("customer.subscription.updated", SUBSCRIPTION), "subscription_changed"),
    Sample(message("customer.subscription.deleted", SUBSCRIPTION), "subscription_cancelled"),
    Sample(message("customer.created", CUSTOMER), None),
)  # fmt: skip
SENDER = ProviderHarness(
    Stripe(), SECRETS, signed, SAMPLES, unknown=Sample(message("payout.paid", {"id": "po_1"}), None)
)


class TestStripe(RevenueProviderConformance):
    @pytest.fixture
    def harness(self):
        return SENDER


def read(kind, about, **more):
    return map_message(message(kind, about, **more), ACCOUNT)


def test_every_kind_of_the_map_is_held_to_the_kit():
    assert {sample.body["type"] for sample in SAMPLES} == set(MAPPERS_BY_TYPE)


def test_a_secret_that_is_rolled_signs_beside_the_old_one():
    body = json.dumps(SAMPLES[0].body).encode()
    old, new = (signed(body, {"webhook_secret": key}, NOON)["stripe-signature"] for key in ("old", "new"))
    both = {"stripe-signature": f"{old},{new.partition(',')[2]},v0=abc"}
    for secret, genuine in (("old", True), ("new", True), ("other", False)):
        delivery = WebhookDelivery(both, body, NOON)
        assert Stripe().verify_signature(delivery, {"webhook_secret": secret}) is genuine


def test_a_second_time_in_the_header_is_refused():
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


def test_the_three_messages_of_one_payment_tell_of_one_order_and_one_person():
    told = [
        read("payment_intent.succeeded", PAYMENT),
        read("checkout.session.completed", SESSION),
        read("charge.refunded", CHARGE),
        read("charge.dispute.closed", DISPUTE),
    ]
    assert {one.properties["order_id"] for one in told} == {"pi_1"}
    assert {one.external_ids["stripe_payment"] for one in told} == {"pi_1"}


@pytest.mark.parametrize(
    "about",
    [{"invoice": "in_1"}, {"payment_details": {"order_reference": "in_1"}}, {"invoice": {"id": "in_1"}}],
)
def test_a_payment_of_an_invoice_is_its_order_in_every_version_of_the_api(about):
    session = SESSION | {"mode": "subscription", "payment_intent": None, "invoice": "in_1"}
    told = [
        read("payment_intent.succeeded", PAYMENT | about),
        read("invoice.payment_succeeded", INVOICE),
        read("checkout.session.completed", session),
        read("charge.refunded", CHARGE | about),
    ]
    assert {one.properties["order_id"] for one in told} == {"in_1"}


def test_revenue_is_without_tax_and_shipping_and_after_discounts():
    session = read("checkout.session.completed", SESSION).properties
    assert {name: session[name] for name in ("revenue", "tax", "shipping", "discount", "currency")} == {
        "revenue": "50.00", "tax": "9.50", "shipping": "5.00", "discount": "0.00", "currency": "EUR",
    }  # fmt: skip
    invoice = read("invoice.payment_succeeded", INVOICE)
    assert (invoice.properties["revenue"], invoice.properties["tax"], invoice.properties["discount"]) == (
        "30.00", "5.70", "10.00",
    )  # fmt: skip
    (charged,) = invoice.payments
    assert (charged.kind, charged.amount, charged.currency, charged.subscription_id) == (
        PaymentKind.CHARGE, 3000, "USD", "sub_1",
    )  # fmt: skip
    assert "tax" not in read("payment_intent.succeeded", PAYMENT).properties


def test_an_invoice_knows_that_nothing_was_taken_off_or_added_and_one_that_leaves_it_out_does_not():
    none = {"total_taxes": [], "total_discount_amounts": [], "shipping_cost": None}
    told = read("invoice.payment_succeeded", INVOICE | none).properties
    assert [told[name] for name in ("discount", "tax", "shipping")] == ["0.00", "0.00", "0.00"]
    bare = {name: value for name, value in INVOICE.items() if not name.startswith("total_")}
    assert not {"discount", "tax", "shipping"} & read("invoice.payment_succeeded", bare).properties.keys()


@pytest.mark.parametrize(
    ("kind", "about", "own"),
    [
        ("payment_intent.succeeded", PAYMENT, "pi_1"),
        ("invoice.payment_succeeded", INVOICE, "in_1"),
        ("checkout.session.completed", SESSION, SESSION["payment_intent"]),
    ],
)
def test_the_order_that_metadata_names_is_the_order_and_what_stripe_has_is_its_payment(kind, about, own):
    plain, named = (read(kind, {**about, "metadata": each}).properties for each in ({}, {"order_id": "1001"}))
    assert (plain["order_id"], named["order_id"]) == (own, "1001")
    assert named["payment_id"] == plain.get("payment_id", own)


def test_an_invoice_of_before_2025_says_the_same():
    old = {name: value for name, value in INVOICE.items() if name not in {"parent", "total_taxes"}}
    old |= {
        "subscription": "sub_1", "payment_intent": "pi_9", "tax": 570,
        "subscription_details": {"metadata": {"visitor_id": "anon_1"}},
    }  # fmt: skip
    since, before = read("invoice.payment_succeeded", INVOICE), read("invoice.payment_succeeded", old)
    assert before.properties == {**since.properties, "payment_id": "pi_9"}
    assert (before.payments, before.identity) == (since.payments, since.identity)
    assert since.identity == {"visitor_id": "anon_1", "email": "ann@example.com"}


def test_an_invoice_over_nothing_is_no_purchase_and_one_that_a_discount_pays_is():
    nothing = INVOICE | {"amount_paid": 0, "total_taxes": []}
    trial = read("invoice.payment_succeeded", nothing | {"subtotal": 0, "total_discount_amounts": []})
    assert (trial.event_name, trial.payments, trial.is_unknown_kind) == (None, (), False)
    free = read("invoice.payment_succeeded", nothing | {"total_discount_amounts": [{"amount": 4000}]})
    assert (free.event_name, free.properties["revenue"]) == ("purchase", "0.00")


def test_a_failed_invoice_moves_no_money_and_is_told_of_its_subscription():
    failed = read("invoice.payment_failed", INVOICE)
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
def test_a_checkout_that_is_not_paid_tells_who_it_was(changes, event_name):
    told = read("checkout.session.completed", SESSION | changes)
    assert (told.event_name, told.identity["visitor_id"]) == (event_name, "anon_1")
    assert told.external_ids == {
        "stripe": "cus_1",
        "stripe_payment": "pi_1",
        "stripe_checkout_session": "cs_1",
    }


def test_a_dispute_that_is_won_says_nothing():
    assert read("charge.dispute.closed", DISPUTE | {"status": "won"}).is_unknown_kind


def test_of_several_refunds_each_tells_its_own_part():
    first = read("charge.refunded", CHARGE | {"amount_refunded": 1000})
    second = read("charge.refunded", CHARGE, before={"amount_refunded": 1000})
    assert [one.properties["revenue"] for one in (first, second)] == ["-10.00", "-20.00"]


def state(**changes):
    (told,) = read("customer.subscription.updated", SUBSCRIPTION | changes).states
    return told


def items(*prices):
    return {"data": [{"price": PRICE | price, "quantity": quantity} for price, quantity in prices]}


def test_a_subscription_is_told_as_it_stands():
    told = state()
    assert (told.status, told.amount, told.currency, told.quantity) == (
        SubscriptionStatus.ACTIVE,
        1200,
        "USD",
        3,
    )
    assert (told.interval, told.interval_count, told.plan, told.product_id) == (
        Interval.MONTH,
        1,
        "Team",
        "prod_1",
    )
    assert told.started_at == datetime.fromtimestamp(HOUR_AGO, UTC)
    assert told.current_period_end == told.started_at + timedelta(days=30)


@pytest.mark.parametrize("name", ["discount", "discounts"])
def test_discounts_for_ever_are_taken_off_and_others_are_not(name):
    def off(**coupon):
        discount = {"coupon": {"duration": "forever", **coupon}}
        told = state(**{name: discount if name == "discount" else [discount]})
        return told.amount, told.quantity

    assert off(percent_off=25) == (900, 3)
    assert off(amount_off=600) == (3000, 1)
    assert off(percent_off=25, duration="repeating") == (1200, 3)
    assert off(amount_off=99_999) == (0, 1)


def test_several_items_are_one_price_and_metered_ones_cost_nothing_yet():
    yearly = {"unit_amount": 12_000, "recurring": {"interval": "year", "interval_count": 1}}
    metered = {"recurring": PRICE["recurring"] | {"usage_type": "metered"}}
    both = state(items=items(({}, 2), (yearly, 1), (metered, None)))
    assert (both.amount, both.quantity, both.interval) == (2400 + 1000, 1, Interval.MONTH)
    parts = state(items=items(({"unit_amount": None, "unit_amount_decimal": "0.5"}, 1000)))
    assert (parts.amount, parts.quantity) == (500, 1)
    assert state(items=items(({"unit_amount": None}, 1))).amount is None
    assert state(items={"data": []}).interval is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cancel_at_period_end": True}, True),
        ({"cancel_at": SUBSCRIPTION["current_period_end"]}, True),
        ({"cancel_at": HOUR_AGO}, False),
        ({}, False),
    ],
)
def test_an_end_with_the_period_is_known_however_it_is_said(changes, expected):
    assert state(**changes).cancel_at_period_end is expected


def test_the_end_of_the_period_stands_at_the_items_since_2025():
    ends = {"data": [{"price": PRICE, "quantity": 1, "current_period_end": HOUR_AGO + n} for n in (5, 9)]}
    told = state(items=ends, current_period_end=None)
    assert told.current_period_end == datetime.fromtimestamp(HOUR_AGO + 9, UTC)


@pytest.mark.parametrize("status", ["trialing", "past_due", "paused", "canceled", "unpaid", "incomplete"])
def test_every_status_is_kept(status):
    assert state(status=status).status == status
    assert state(status="incomplete_expired").status is SubscriptionStatus.EXPIRED


def test_an_account_of_a_platform_is_told_by_its_messages():
    told = map_message(
        {**message("customer.subscription.created", SUBSCRIPTION), "account": "acct_9"}, ACCOUNT
    )
    assert [state.account_id for state in told.states] == ["acct_9"]


def test_a_paid_invoice_lists_its_lines_in_every_version_of_the_api():
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
        return read("invoice.payment_succeeded", INVOICE | {"lines": data}).properties.get("items")

    assert listed(data=lines, has_more=False) == [
        {"product_id": "prod_1", "variant_id": "price_1", "quantity": 2, "price": "12.505"},
        {"product_id": "prod_2", "variant_id": "price_2", "quantity": 1, "price": "0.00"},
        {},
    ]
    assert listed(data=lines, has_more=True) is None
    assert listed(data=[]) is None
