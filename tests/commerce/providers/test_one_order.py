"""However many messages tell of a payment, and in whatever order, it is one order (semantics 10.3, 11.1)."""

from itertools import permutations

import pytest

from tests.commerce.providers.door import opened
from tests.commerce.providers.test_receive import PAYMENT, message

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
async def test_the_messages_of_a_payment_are_one_order_and_a_refund_of_it_nets_to_nothing(tmp_path, told):
    async with opened(tmp_path) as door:
        for messages in permutations(told):
            shop = await door.shop()
            for number, (kind, about) in enumerate(messages):
                await door.stripe(shop, message(kind, about, f"evt_{number}"))
            assert len(await door.events(shop)) == len(told)
            asked = {"start_date": "2026-07-01", "end_date": "2026-07-09", "provider": "stripe"}
            (row,) = (await shop.get("/revenue", **asked))["platforms"]
            assert (row["orders"], row["revenue"], row["net_revenue"]) == (1, 59.5, 59.5)
            await door.stripe(shop, message("charge.refunded", REFUND, "evt_back"))
            await door.drain()
            (row,) = (await shop.get("/revenue", **asked))["platforms"]
            assert (row["refunds"], row["refund_count"], row["net_revenue"]) == (59.5, 1, 0)
