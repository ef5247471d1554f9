"""Shopify as a revenue provider: who signed a message, and what it says."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.revenue_shopify.adapter import Shopify
from plugins.revenue_shopify.mapping import MAPPERS_BY_TOPIC
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.plugin import WebhookDelivery
from service_core.testing.ingestion_stubs import NOON
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance, Sample

SECRETS = {"webhook_secret": "shpss_planted"}
ORDER = {
    "id": 5001, "name": "#1001", "currency": "EUR", "financial_status": "paid", "fulfillment_status": "fulfilled",
    "subtotal_price": "90.00", "total_line_items_price": "100.00", "total_discounts": "12.00", "total_tax": "18.05",
    "total_price": "113.05", "taxes_included": False, "test": False, "email": "ann@example.com",
    "shipping_lines": [{"price": "7.00", "discounted_price": "5.00", "tax_lines": [{"price": "0.95"}]}],
    "note_attributes": [{"name": "gift", "value": "no"}, {"name": "_touchpoint_visitor_id", "value": "anon_1"}],
    "customer": {"id": 7001, "email": "ann@example.com"}, "checkout_token": "tok_1",
    "updated_at": "2026-07-01T07:00:00-04:00", "cancelled_at": "2026-07-01T11:30:00Z", "cancel_reason": "customer",
}  # fmt: skip
REFUND = {
    "id": 6001, "order_id": 5001, "created_at": "2026-07-01T11:00:00Z",
    "transactions": [
        {"kind": "refund", "status": "success", "amount": "53.55", "currency": "EUR", "test": False},
        {"kind": "refund", "status": "failure", "amount": "99.00", "currency": "EUR", "test": False},
    ],
    "refund_line_items": [{"subtotal": "40.00", "total_tax": "7.60"}],
    "order_adjustments": [{"kind": "shipping_refund", "amount": "-5.00", "tax_amount": "-0.95"}],
}  # fmt: skip
CHECKOUT = {
    "id": 8001, "token": "tok_1", "created_at": "2026-07-01T10:00:00Z",
    "note_attributes": [{"name": "_touchpoint_visitor_id", "value": "anon_1"}],
}  # fmt: skip
CUSTOMER = {"id": 7001, "email": "ann@example.com", "created_at": "2026-07-01T10:00:00Z"}


def sign_delivery(body, secrets, _sent):
    return {"x-shopify-hmac-sha256": b64encode(hmac_sha256(secrets["webhook_secret"], body)).decode()}


def sample_of_topic(name):
    return {"x-shopify-topic": name}


SAMPLES = (
    Sample(ORDER, "order_paid", sample_of_topic("orders/paid"), revenue=9000),
    Sample(
        {**ORDER, "id": 5002, "test": True},
        "order_paid",
        sample_of_topic("orders/paid"),
        test=True,
        revenue=9000,
    ),
    Sample(ORDER, "order_cancelled", sample_of_topic("orders/cancelled")),
    Sample(ORDER, "order_fulfilled", sample_of_topic("orders/fulfilled")),
    Sample(REFUND, "refund", sample_of_topic("refunds/create"), revenue=-4000),
    Sample(CHECKOUT, "checkout_started", sample_of_topic("checkouts/create")),
    Sample(CUSTOMER, None, sample_of_topic("customers/create")),
)
SENDER = ProviderHarness(
    Shopify(),
    SECRETS,
    sign_delivery,
    SAMPLES,
    unknown=Sample({"id": 1}, None, sample_of_topic("products/create")),
    signs_time=False,
)


class TestShopify(RevenueProviderConformance):
    @pytest.fixture
    def harness(self):
        return SENDER


def map_message_of(name, body):
    return SENDER.map_sample(Sample(body, None, sample_of_topic(name)))


def test_every_mapped_topic_has_a_conformance_sample():
    assert {sample.headers["x-shopify-topic"] for sample in SAMPLES} == set(MAPPERS_BY_TOPIC)


def test_parts_of_an_order_add_up_to_what_was_paid():
    result = map_message_of("orders/paid", ORDER)
    money = {name: result.properties[name] for name in ("revenue", "tax", "shipping", "discount", "currency")}
    assert money == {
        "revenue": "90.00", "tax": "18.05", "shipping": "5.00", "discount": "10.00", "currency": "EUR",
    }  # fmt: skip
    assert result.occurred_at == datetime(2026, 7, 1, 11, tzinfo=UTC)
    assert result.identity == {"visitor_id": "anon_1", "email": "ann@example.com"}
    assert result.external_ids == {"shopify": "7001", "shopify_order": "5001", "shopify_checkout": "tok_1"}
    assert (result.properties["order_id"], result.properties["order_name"]) == ("5001", "#1001")


def test_missing_order_amounts_are_null():
    bare = {name: value for name, value in ORDER.items() if name not in {"total_tax", "shipping_lines"}}
    assert not {"tax", "shipping"} & map_message_of("orders/paid", bare).properties.keys()
    assert map_message_of("orders/paid", {**ORDER, "shipping_lines": []}).properties["shipping"] == "0"


def test_included_taxes_are_subtracted():
    """90.00 of items hold 14.37 of taxes, 5.00 of shipping hold 0.80."""
    lines = [{"price": "5.00", "tax_lines": [{"price": "0.80"}]}]
    result = map_message_of(
        "orders/paid", {**ORDER, "taxes_included": True, "total_tax": "15.17", "shipping_lines": lines}
    )
    assert [result.properties[name] for name in ("revenue", "tax", "shipping")] == ["75.63", "15.17", "4.20"]


def test_zero_decimal_currency_is_exact():
    yen = {"currency": "JPY", "subtotal_price": "5000", "total_line_items_price": "5000", "total_tax": "0"}
    event = SENDER.queued_and_enriched_event(Sample({**ORDER, **yen}, None, sample_of_topic("orders/paid")))
    assert (event.revenue, event.currency) == (5000, "JPY")


def test_full_refund_equals_the_order_revenue():
    full = {
        **REFUND,
        "transactions": [{"kind": "refund", "status": "success", "amount": "113.05", "currency": "EUR"}],
        "refund_line_items": [{"subtotal": "90.00", "total_tax": "17.10"}],
    }  # fmt: skip
    result = map_message_of("refunds/create", full)
    assert (result.properties["revenue"], result.properties["order_id"]) == ("-90.00", "5001")
    assert result.external_ids == {"shopify_order": "5001"}


def test_refund_amount_comes_from_transactions():
    result = map_message_of("refunds/create", {**REFUND, "refund_line_items": [], "order_adjustments": []})
    assert result.properties["revenue"] == "-53.55"
    assert "revenue" not in map_message_of("refunds/create", {**REFUND, "transactions": []}).properties


def amount_set(amount):
    return {"shop_money": {"amount": amount, "currency_code": "EUR"}}


@pytest.mark.parametrize(
    "taxes",
    [
        {"tax_amount_set": amount_set("0.95")},
        {"shipping_line": {"discounted_price": "10.00", "tax_lines": [{"price": "1.90"}]}},
    ],
)
def test_refunded_shipping_is_read_in_every_api_version(taxes):
    line = {"subtotal_amount_set": amount_set("5.00"), **taxes}
    since = {**REFUND, "order_adjustments": [], "refund_shipping_lines": [line]}
    both = {**REFUND, "refund_shipping_lines": [line]}
    result = map_message_of("refunds/create", REFUND).properties
    assert result["revenue"] == "-40.00"
    assert [map_message_of("refunds/create", refund).properties for refund in (since, both)] == [
        result,
        result,
    ]


def test_pending_refund_counts_as_refund():
    pending = [{"kind": "refund", "status": "pending", "amount": "5.95", "currency": "EUR"}]
    result = map_message_of("refunds/create", {**REFUND, "transactions": pending, "refund_line_items": []})
    assert (result.properties["revenue"], result.properties["shipping"]) == ("0.00", "5.00")


def test_buyer_currency_refund_subtracts_taxes_in_that_currency():
    line = {
        "total_tax": "7.60",
        "total_tax_set": {
            "shop_money": {"amount": "7.60", "currency_code": "EUR"},
            "presentment_money": {"amount": "8.00", "currency_code": "USD"},
        },
    }
    paid = [{"kind": "refund", "status": "success", "amount": "50.00", "currency": "USD"}]
    result = map_message_of(
        "refunds/create",
        {**REFUND, "transactions": paid, "refund_line_items": [line], "order_adjustments": []},
    )
    assert (result.properties["revenue"], result.properties["currency"]) == ("-42.00", "USD")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("orders/paid", {"financial_status": "pending"}),
        ("orders/cancelled", {"cancelled_at": None}),
        ("orders/fulfilled", {"fulfillment_status": "partial"}),
        ("refunds/create", {}),
        ("checkouts/create", {"created_at": None}),
    ],
)
def test_topic_that_contradicts_the_body_is_refused(name, changes):
    with pytest.raises(ValueError, match=r"not|missing"):
        map_message_of(name, {**ORDER, **changes})


def test_delivery_id_does_not_change_the_message_id():
    body = json.dumps(ORDER).encode()
    ids = {
        Shopify()
        .map_message(
            ORDER,
            WebhookDelivery({**sample_of_topic("orders/paid"), "x-shopify-webhook-id": id_}, body, NOON),
            "",
        )
        .message_id
        for id_ in ("a", "b")
    }
    assert ids == {"orders_paid_5001"}


CENTS = st.integers(0, 10**7).map(lambda cents: Decimal(cents).scaleb(-2))


@given(CENTS, CENTS, CENTS, CENTS, st.booleans(), st.booleans())
@settings(max_examples=30)
def test_generated_orders_have_parts_that_add_up_and_full_refunds(
    items, item_tax, shipping, shipping_tax, included, whole
):
    """Net amounts; a shop whose prices include taxes writes them with these, of shipping given back perhaps."""
    total = items + item_tax + shipping + shipping_tax
    line = {
        "price": str(shipping + shipping_tax * included),
        "tax_lines": [{"price": str(shipping_tax)}],
    }
    subtotal = str(items + item_tax * included)
    order = {
        **ORDER, "taxes_included": included, "subtotal_price": subtotal, "total_line_items_price": subtotal,
        "total_tax": str(item_tax + shipping_tax), "shipping_lines": [line],
    }  # fmt: skip
    result = map_message_of("orders/paid", order).properties
    assert sum(Decimal(result[name]) for name in ("revenue", "tax", "shipping")) == total
    assert Decimal(result["revenue"]) == items
    back = {
        **REFUND,
        "transactions": [{"kind": "refund", "status": "success", "amount": str(total), "currency": "EUR"}],
        "refund_line_items": [{"subtotal": subtotal, "total_tax": str(item_tax)}],
        "order_adjustments": [
            {
                "kind": "shipping_refund",
                "amount": str(-shipping - shipping_tax * (included and whole)),
                "tax_amount": str(-shipping_tax),
            }
        ],
    }
    assert Decimal(map_message_of("refunds/create", back).properties["revenue"]) == -items


def test_orders_and_refunds_list_their_items():
    shirt = {"id": 1, "sku": "SHIRT", "variant_id": 11, "product_id": 9, "quantity": 2, "price": "25.00"}
    gift = {"id": 2, "sku": "", "variant_id": None, "quantity": 1, "price": "5.00"}
    result = map_message_of("orders/paid", {**ORDER, "line_items": [shirt, gift]}).properties["items"]
    known = {"sku": "SHIRT", "variant_id": "11", "product_id": "9"}
    assert result == [{**known, "price": "25.00", "quantity": 2}, {"price": "5.00", "quantity": 1}]
    back = [{"quantity": 1, "restock_type": "no_restock", "line_item": shirt}]
    assert map_message_of("refunds/create", {**REFUND, "refund_line_items": back}).properties["items"] == [
        {**known, "quantity": 1}
    ]
    assert "items" not in map_message_of("orders/paid", ORDER).properties
