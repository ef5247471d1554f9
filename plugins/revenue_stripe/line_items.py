"""Line items of invoices."""

from collections.abc import Sequence
from typing import Any, Final

from plugins.revenue_stripe.amounts import format_amount
from plugins.revenue_stripe.event import referenced_id
from service_core.plugin import MessageFields

_QUANTITY_LIMIT: Final = 1_000_000_000
"""More of one thing than anybody buys."""


def sold_invoice_items_unless_truncated(invoice: MessageFields, currency: str) -> Sequence[dict[str, Any]]:
    """Returns the lines of an invoice with their prices; none if the message has only some of them.

    Lines with a negative amount, such as prorations, are left out.
    """
    lines = invoice.object("lines")
    if lines.is_true("has_more"):
        return []
    sold = [line for line in lines.objects("data") if (line.number("amount") or 0) >= 0]
    return [_map_invoice_line(line, currency) for line in sold]


def _map_invoice_line(line: MessageFields, currency: str) -> dict[str, Any]:
    """The product and price of a line, in versions of the API since 2025-03-31 and before."""
    pricing, price = line.object("pricing"), line.object("price")
    details = pricing.object("price_details")
    quantity = line.number("quantity")
    units = (source.number("unit_amount_decimal") for source in (pricing, price))
    unit = next((source for source in units if source is not None), None)
    item = {
        "product_id": referenced_id(details, "product") or referenced_id(price, "product"),
        "variant_id": referenced_id(details, "price") or price.text("id"),
        "quantity": None if quantity is None or quantity >= _QUANTITY_LIMIT else int(quantity),
        "price": None if unit is None else format_amount(unit, currency),
    }
    return {name: value for name, value in item.items() if value is not None}
