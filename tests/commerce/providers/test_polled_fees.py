"""Fees of Stripe's balance transactions and of Shopify's payouts complete the charges they belong to."""

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.testing.fake_platform import FakeResponse
from tests.commerce.providers.fake_providers import FakeShopify, FakeStripe
from tests.commerce.providers.test_polling import DAY, FIRST, HOUR, run_polled_provider

CREATED = int(FIRST.timestamp())


def stripe_charge(number, currency="eur", amount=1000, **fields):
    """A charge as a balance transaction contains it when its source is expanded."""
    return {
        "id": f"ch_{number}", "object": "charge", "amount": amount, "currency": currency, "captured": True,
        "created": CREATED, "customer": f"cus_{number}", "livemode": True, "metadata": {}, "paid": True,
        "balance_transaction": f"txn_{number}", "payment_intent": f"pi_{number}", "status": "succeeded",
    } | fields  # fmt: skip


def stripe_balance_transaction(id_, source, fee, *, currency="eur", amount=1000, created=CREATED, **fields):
    return {
        "id": id_, "object": "balance_transaction", "amount": amount, "available_on": created + 172_800,
        "created": created, "currency": currency, "description": None, "exchange_rate": None, "fee": fee,
        "fee_details": [
            {"amount": fee, "application": None, "currency": currency, "description": "Stripe processing fees",
             "type": "stripe_fee"},
        ],
        "net": amount - fee, "reporting_category": "charge", "source": source, "status": "available", "type": "charge",
    } | fields  # fmt: skip


def shopify_transaction(id_, order, fee, at, **fields):
    return {
        "id": id_, "type": "charge", "test": False, "payout_id": 623721858, "payout_status": "paid",
        "currency": "EUR", "amount": "20.00", "fee": fee, "net": "19.00", "source_id": 1006917261,
        "source_type": "charge", "source_order_id": order, "source_order_transaction_id": 1006917261,
        "processed_at": at.isoformat(),
    } | fields  # fmt: skip


async def read_fees(shop):
    """The fees of the week in euros, and the reason when they are unknown."""
    await shop.webhook_client.drain()
    answer = await shop.client.post(
        "/metrics",
        {
            "metrics": ["fees"],
            "date_range": {"from": "2026-07-01", "to": "2026-07-08"},
            "filters": [{"dimension": "currency", "value": "EUR"}],
        },
    )
    return answer["metrics"][0]["value"], answer["metrics"][0]["unavailable_reason"]


@pytest.fixture
async def stripe(tmp_path):
    async with run_polled_provider(tmp_path, FakeStripe, currency="EUR") as shop:
        yield shop


@pytest.fixture
async def shopify(tmp_path):
    async with run_polled_provider(tmp_path, FakeShopify, currency="EUR") as shop:
        yield shop


async def test_charge_of_stripe_has_the_fee_of_its_balance_transaction(stripe):
    stripe.sell(0)
    await stripe.sync()
    assert await read_fees(stripe) == (None, "fees_unknown")
    settled = CREATED + 6 * 86_400  # what was created an hour before the last sync is listed again
    stripe.provider_api.transactions.append(
        stripe_balance_transaction("txn_0", stripe_charge(0), 59, created=settled)
    )
    await stripe.sync()
    assert await read_fees(stripe) == (0.59, None)
    assert (await stripe.sync()).counts["new"] == 0
    (fee, *_) = [
        event
        for event in (
            await stripe.client.get("/events", start_date="2026-07-01", end_date="2026-07-08", limit=200)
        )["events"]
        if event["event_name"] == "payment_fee"
    ]
    assert fee["event_id"] == "stripe_txn_0"
    assert fee["event_data"]["fee_details"] == [{"type": "stripe_fee", "amount": "0.59", "currency": "EUR"}]


async def test_fee_settled_in_another_currency_is_converted_by_the_rate_of_stripe(stripe):
    stripe.sell(0)
    stripe.provider_api.transactions.append(
        stripe_balance_transaction(
            "txn_0", stripe_charge(0), 62, currency="usd", amount=1100, exchange_rate=1.1
        )
    )
    await stripe.sync()
    assert await read_fees(stripe) == (0.56, None)


async def test_refund_and_dispute_add_their_fees_to_the_charge(stripe):
    stripe.sell(0)
    charge = stripe_charge(0)
    later = {"created": CREATED + 5 * 86_400, "reporting_category": "refund"}
    refund = {"id": "re_0", "object": "refund", "amount": 100, "currency": "eur", "charge": charge}
    dispute = {"id": "dp_0", "object": "dispute", "amount": 1000, "currency": "eur", "charge": charge}
    payout = {"id": "po_1", "object": "payout", "amount": -5000, "currency": "eur"}
    stripe.provider_api.transactions += [
        stripe_balance_transaction("txn_0", charge, 59),
        stripe_balance_transaction("txn_1", refund, -9, amount=-100, type="refund", **later),
        stripe_balance_transaction("txn_2", dispute, 1500, amount=-1000, type="adjustment", **later),
        stripe_balance_transaction("txn_3", payout, 25, amount=-5000, type="payout", **later),
        stripe_balance_transaction("txn_4", None, 30, amount=-30, type="stripe_fee", **later),
    ]
    assert (await stripe.sync()).counts["new"] == 4
    assert await read_fees(stripe) == (15.5, None)


async def test_fees_are_read_where_stripe_refuses_to_expand_charges(stripe):
    stripe.sell(0)
    refund = {"id": "re_0", "object": "refund", "amount": 100, "currency": "eur", "charge": "ch_0"}
    stripe.provider_api.transactions += [
        stripe_balance_transaction("txn_0", stripe_charge(0), 59),
        stripe_balance_transaction(
            "txn_1", refund | {"payment_intent": "pi_0"}, -9, amount=-100, type="refund"
        ),
    ]
    listed = stripe.provider_api.list

    def refuse_expansion(request):
        refusal = FakeResponse({"error": {"message": "This property cannot be expanded (charge)."}}, 400)
        return refusal if request.query.get("expand[]") == "data.source.charge" else listed(request)

    stripe.provider_api.answers = refuse_expansion
    assert (await stripe.sync()).counts["new"] == 3
    assert await read_fees(stripe) == (0.5, None)


async def test_key_that_may_not_read_balance_transactions_leaves_fees_unknown(stripe):
    stripe.sell(0)
    listed = stripe.provider_api.list

    def refuse_fees(request):
        refusal = FakeResponse({"error": {"message": "The provided key does not have the permission"}}, 403)
        return refusal if request.path.endswith("balance_transactions") else listed(request)

    stripe.provider_api.answers = refuse_fees
    assert (await stripe.sync()).counts["new"] == 1
    assert (await stripe.webhook_client.connection(stripe.client)).status is ConnectionStatus.CONNECTED
    assert await read_fees(stripe) == (None, "fees_unknown")


async def test_order_of_shopify_has_the_fee_of_its_payout(shopify):
    shopify.sell(0)
    await shopify.sync()
    assert await read_fees(shopify) == (None, "fees_unknown")
    shopify.provider_api.transactions = [
        shopify_transaction(4, None, "0.00", FIRST + 3 * DAY, type="payout"),
        shopify_transaction(3, 5000, "-0.10", FIRST + DAY, type="refund", amount="-5.00"),
        shopify_transaction(2, 5000, "0.88", FIRST + HOUR),
        shopify_transaction(1, 4000, "0.77", FIRST - 90 * DAY),
    ]
    assert (await shopify.sync()).counts["new"] == 2
    assert await read_fees(shopify) == (0.78, None)


async def test_shop_without_shopify_payments_has_unknown_fees_and_stays_connected(shopify):
    shopify.sell(0)
    assert (await shopify.sync()).counts["new"] == 1
    assert (await shopify.webhook_client.connection(shopify.client)).status is ConnectionStatus.CONNECTED
    assert await read_fees(shopify) == (None, "fees_unknown")
