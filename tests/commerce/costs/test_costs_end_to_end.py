"""From a webhook of an invoice and a tracked purchase to what their goods cost."""

from service_core.commerce.costs.models import ItemIdType
from tests.commerce.costs.cost_data import add_order, item_cost, save_costs
from tests.commerce.providers.test_webhooks import stripe_message
from tests.commerce.providers.webhook_client import open_webhook_client

LINES = {
    "has_more": False,
    "data": [
        {
            "amount": 3000,
            "quantity": 3,
            "pricing": {"price_details": {"product": "prod_1", "price": "price_1"}},
        },
        {"amount": 1000, "quantity": 1, "price": {"id": "price_2"}},
    ],
}
INVOICE = {
    "id": "in_1", "object": "invoice", "amount_paid": 4000, "subtotal": 4000, "currency": "usd", "customer": "cus_1",
    "lines": LINES,
}  # fmt: skip


async def test_items_of_invoices_and_tracked_orders_have_costs(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        await save_costs(
            shop,
            item_cost("prod_1", "1.25", 0),
            item_cost("price_2", 4, 0, by=ItemIdType.VARIANT),
            item_cost("SHIRT", 2, 0),
        )
        await webhook_client.stripe(shop, stripe_message("invoice.payment_succeeded", INVOICE, "evt_1"))
        await webhook_client.events(shop)
        add_order(shop, "O1", "2026-07-02T10:00", 50_00, ("SHIRT", 2, 25))
        await shop.knows()
        body = {"metrics": ["cogs"], "date_range": {"from": "2026-07-01", "to": "2026-07-08"}}
        rows = (await shop.post("/query", {**body, "dimensions": ["provider"]}))["rows"]
        assert {row["provider"]: row["cogs"] for row in rows} == {"stripe": 7.75, "tracked": 4.0}
