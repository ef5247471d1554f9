"""Line items of orders and refunds."""

from collections.abc import Iterable, Sequence
from typing import Any

from service_core.plugin import MessageFields


def order_items_at_undiscounted_price(order: MessageFields) -> Sequence[dict[str, Any]]:
    """Returns the items of an order at their prices before discounts."""
    lines = order.objects("line_items")
    return _drop_unknown(
        {**_item_ids(line), "price": line.text("price"), "quantity": _quantity(line)} for line in lines
    )


def refunded_items_without_price(refund: MessageFields) -> Sequence[dict[str, Any]]:
    """Returns the refunded items without prices, whether they were restocked or not."""
    lines = refund.objects("refund_line_items")
    return _drop_unknown(
        {**_item_ids(line.object("line_item")), "quantity": _quantity(line)} for line in lines
    )


def _item_ids(line: MessageFields) -> dict[str, Any]:
    return {name: line.text(name) for name in ("sku", "variant_id", "product_id")}


def _quantity(line: MessageFields) -> int | None:
    quantity = line.number("quantity")
    return None if quantity is None else int(quantity)


def _drop_unknown(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if value is not None} for item in items]
