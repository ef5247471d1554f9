"""Costs of a workspace, and orders that list items."""

from datetime import date
from decimal import Decimal
from uuid import uuid4

from service_core.commerce.costs.models import MILLION, ItemCost, ItemIdType
from tests.analytics.deployment import NOW


def item_cost(item, unit, handling=None, *, since="2026-06-01", currency="USD", by=ItemIdType.SKU):
    """What an item costs, in major units."""
    in_millionths = [None if one is None else int(Decimal(str(one)) * MILLION) for one in (unit, handling)]
    return ItemCost(by, item, date.fromisoformat(since), *in_millionths, currency)


async def save_costs(shop, *costs):
    """The workspace knows these costs."""
    await shop.service.ports.workspace.item_costs.save_or_replace_costs(
        shop.workspace.id, uuid4(), costs, NOW
    )


def add_order(shop, order, at, revenue, *lines, name="purchase", **columns):
    """An order, or a refund of one, with items as (sku, quantity, price)."""
    items = [{"sku": sku, "quantity": quantity, "price": price} for sku, quantity, price in lines]
    data = {"items": items} if items else {}
    shop.story.add_event(
        name,
        at=at,
        visitor=order,
        order_id=order,
        revenue=revenue,
        event_data=data,
        **{"source": "web"} | columns,
    )
