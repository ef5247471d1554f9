"""However many messages tell of a payment, and in whatever order, it is one order."""

from itertools import permutations

import pytest

from tests.commerce.providers.test_webhooks import PAYMENT, stripe_message
from tests.commerce.providers.webhook_client import open_webhook_client

DOLLARS = {"currency": "usd", "customer": "cus_1"}
ORDERED = {
    "a payment": (
        ("payment_intent.succeeded", {**PAYMENT, **DOLLARS}),
        ("checkout.session.completed", {
            "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": "paid",
            "amount_total": 5950, "payment_intent": "pi_1", **DOLLARS,
        }),
    ),
    "an invoice": (
        ("payment_intent.succeeded", {**PAYMENT, **DOLLARS, "payment_details": {"order_reference": "in_1"}}),
        ("invoice.payment_succeeded", {
            "id": "in_1", "object": "invoice", "amount_paid": 5950, "subtotal": 5950,
            "parent": {"subscription_details": {"subscription": "sub_1"}}, **DOLLARS,
        }),
        ("checkout.session.completed", {
            "id": "cs_1", "object": "checkout.session", "mode": "subscription", "payment_status": "paid",
            "amount_total": 5950, "invoice": "in_1", "subscription": "sub_1", **DOLLARS,
        }),
    ),
}  # fmt: skip
REFUND = {"id": "ch_1", "object": "charge", "amount_refunded": 5950, "payment_intent": "pi_1", **DOLLARS}


@pytest.mark.parametrize("told", ORDERED.values(), ids=list(ORDERED))
async def test_messages_of_a_payment_are_one_order_and_its_refund_nets_to_zero(tmp_path, told):
    async with open_webhook_client(tmp_path) as webhook_client:
        for messages in permutations(told):
            shop = await webhook_client.connected_workspace()
            for number, (kind, about) in enumerate(messages):
                await webhook_client.stripe(shop, stripe_message(kind, about, f"evt_{number}"))
            assert len(await webhook_client.events(shop)) == len(told)
            parameters = {"start_date": "2026-07-01", "end_date": "2026-07-09", "provider": "stripe"}
            (row,) = (await shop.get("/revenue", **parameters))["platforms"]
            assert (row["orders"], row["revenue"], row["net_revenue"]) == (1, 59.5, 59.5)
            await webhook_client.stripe(shop, stripe_message("charge.refunded", REFUND, "evt_back"))
            await webhook_client.drain()
            (row,) = (await shop.get("/revenue", **parameters))["platforms"]
            assert (row["refunds"], row["refund_count"], row["net_revenue"]) == (59.5, 1, 0)


SESSION = {
    "id": "cs_9", "object": "checkout.session", "mode": "payment", "payment_status": "paid", "amount_total": 6450,
    "total_details": {"amount_tax": 950, "amount_shipping": 500, "amount_discount": 250}, "payment_intent": "pi_9",
    **DOLLARS,
}  # fmt: skip
WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}
KNOWN = {
    "the order that metadata names": ({"order_id": "1001"}, {}, {"metadata": {"order_id": "1001"}}),
    "the payment": ({"order_id": "1001", "payment_id": "pi_9"}, {}, {}),
    "the payment as its order": ({"order_id": "pi_9"}, {}, {"metadata": {"order_id": "1001"}}),
    "the message": ({"order_id": "1001"}, {"event_id": "evt_9", "claimed": True}, {}),
}


@pytest.mark.parametrize(("properties", "sent", "more"), KNOWN.values(), ids=list(KNOWN))
async def test_order_tracked_by_site_and_stripe_counts_once_for_stripe(tmp_path, properties, sent, more):
    result = stripe_message("checkout.session.completed", {**SESSION, **more}, "evt_9")
    tracked = {"value": 64.5, "currency": "USD", **properties}
    async with open_webhook_client(tmp_path) as webhook_client:
        for tracked_first in (True, False):
            shop = await webhook_client.connected_workspace()
            if not tracked_first:
                await webhook_client.stripe(shop, result)
            await webhook_client.track(
                shop, "purchase", tracked, sent=sent, timestamp="2026-07-08T08:39:00Z", user_id="u1"
            )
            if tracked_first:
                await webhook_client.stripe(shop, result)
            assert len(await webhook_client.events(shop)) == 2
            answer = await shop.get("/revenue", **WEEK)
            assert [(row["platform"], row["orders"], row["revenue"]) for row in answer["platforms"]] == [
                ("stripe", 1, 50.0), ("tracked", 0, 0.0),
            ]  # fmt: skip
            ids = [
                "gross_revenue",
                "discounts",
                "revenue",
                "taxes",
                "shipping",
                "fees",
                "orders",
                "purchases",
            ]
            metrics = (await shop.post("/metrics", {"metrics": ids, **WEEK}))["metrics"]
            assert [metric["value"] for metric in metrics] == [52.5, 2.5, 50.0, 9.5, 5.0, None, 1, 1]


async def test_message_with_revenue_parts_represents_the_payment(tmp_path):
    """A payment tells what was paid, a Checkout session what of it was tax and shipping."""
    paid = {**PAYMENT, **DOLLARS, "id": "pi_9", "amount_received": 6450}
    async with open_webhook_client(tmp_path) as webhook_client:
        for messages in permutations(
            (("payment_intent.succeeded", paid), ("checkout.session.completed", SESSION))
        ):
            shop = await webhook_client.connected_workspace()
            for number, (kind, about) in enumerate(messages):
                await webhook_client.stripe(shop, stripe_message(kind, about, f"evt_{number}"))
            await webhook_client.drain()
            (row,) = (await shop.get("/revenue", **WEEK, provider="stripe"))["platforms"]
            assert (row["orders"], row["revenue"]) == (1, 50.0)


async def test_refund_by_payment_id_finds_the_order_named_in_metadata(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        named = {**SESSION, "metadata": {"order_id": "1001"}}
        await webhook_client.stripe(shop, stripe_message("checkout.session.completed", named, "evt_9"))
        back = {**REFUND, "amount_refunded": 6450, "payment_intent": "pi_9"}
        later = {**stripe_message("charge.refunded", back, "evt_back"), "created": 1_783_500_000 + 90}
        await webhook_client.stripe(shop, later)
        await webhook_client.drain()
        (row,) = (await shop.get("/revenue", **WEEK, provider="stripe", refund_basis="order"))["platforms"]
        assert (row["refunds"], row["net_revenue"]) == (50.0, 0)


@pytest.mark.parametrize("refunded", [(6450,), (3225, 3225), (2150, 2150, 2150), (1, 6449)])
async def test_refunds_of_a_taxed_charge_net_to_zero_in_every_answer(tmp_path, refunded):
    """Of 64.50 paid, 14.50 are tax and shipping; parts of it give back their share of the 50.00."""
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        await webhook_client.stripe(shop, stripe_message("checkout.session.completed", SESSION, "evt_9"))
        sent = 0
        for number, amount in enumerate(refunded):
            back = {**REFUND, "amount_refunded": sent + amount, "payment_intent": "pi_9"}
            message = stripe_message("charge.refunded", back, f"evt_b{number}")
            message["data"]["previous_attributes"] = {"amount_refunded": sent}
            await webhook_client.stripe(shop, {**message, "created": 1_783_500_000 + 90 + number})
            sent += amount
        await webhook_client.drain()
        for basis in ("refund", "order"):
            answer = await shop.get("/revenue", **WEEK, refund_basis=basis)
            stripe = next(row for row in answer["platforms"] if row["platform"] == "stripe")
            for row in (stripe, answer["combined"]):
                assert (row["revenue"], row["refunds"], row["net_revenue"]) == (50.0, 50.0, 0)
            hours = {"start_date": "2026-07-01T00:00Z", "end_date": "2026-07-08T12:00Z"}
            metrics = await shop.get("/commerce-metrics", **hours, refund_basis=basis)
            assert [metrics[name] for name in ("revenue", "refunds", "net_revenue")] == [50.0, 50.0, 0]
