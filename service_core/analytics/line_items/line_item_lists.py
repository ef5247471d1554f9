"""Parses the line items of an event.

A list is found under ``items``, ``line_items``, ``contents`` or ``products``, as different clients name it.
Without a list, the properties of a sale are its only item.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LIST_KEYS: Final = ("items", "line_items", "contents", "products")
SKU_KEYS: Final = ("sku", "item_id", "content_id", "id", "product_id")
VARIANT_KEYS: Final = ("variant_id",)
QUANTITY_KEYS: Final = ("quantity", "qty")
PRICE_KEYS: Final = ("price", "item_price")
"""Names of one property; the first with a value counts."""

NUMBER_PATTERN: Final = r"^-?[0-9]{1,9}(\.[0-9]{1,9})?$"
"""Numbers, also in a text; the sign is ignored."""

MILLION: Final = 1_000_000
_NUMBER: Final = re.compile(NUMBER_PATTERN, re.ASCII)


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line item of an order.

    Attributes:
        sku, variant_id: ids of the item; None if unknown.
        quantity: in millionths; 1 if omitted.
        amount: price times quantity in millionths of a major unit; None without a price.
    """

    sku: str | None
    variant_id: str | None
    quantity: int
    amount: int | None


def raw_line_items_of_first_list(properties: Mapping[str, Any]) -> Sequence[Any]:
    """Returns the line items of an event as sent; empty if it lists none."""
    lists = (properties.get(name) for name in LIST_KEYS)
    return next((items for items in lists if isinstance(items, list) and items), ())


def parse_line_item_without_ids_if_bad_quantity(raw_item: Any) -> LineItem:
    """Returns a line item as sent. If the quantity is not a number, the ids are dropped, as nobody knows how many were sold."""
    properties = raw_item if isinstance(raw_item, Mapping) else {}
    quantity_text, price = (
        first_text(properties, QUANTITY_KEYS),
        parse_number(first_text(properties, PRICE_KEYS)),
    )
    quantity = parse_number(quantity_text)
    is_known = quantity_text is None or quantity is not None
    count = 1.0 if quantity is None else quantity
    return LineItem(
        first_text(properties, SKU_KEYS) if is_known else None,
        first_text(properties, VARIANT_KEYS) if is_known else None,
        _round_half_up(count * MILLION),
        None if price is None else _round_half_up(price * count * MILLION),
    )


def first_text(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Returns the first text, number or boolean of several keys as text; None if none has any."""
    texts = (_scalar_as_text(value.get(name)) for name in names)
    return next((text for text in texts if text), None)


def _scalar_as_text(value: Any) -> str | None:
    """Returns a text, number or boolean as text; None for anything else."""
    if isinstance(value, str) or value is None:
        return value
    return None if isinstance(value, Mapping | list) else json.dumps(value)


def parse_number(text: str | None) -> float | None:
    """Returns the absolute number that a text holds; None for any other text."""
    return abs(float(text)) if text is not None and _NUMBER.match(text) else None


def _round_half_up(number: float) -> int:
    """Returns the number rounded as every engine does."""
    return math.floor(number + 0.5)
