"""How an event lists its items, under the names shops and their tools use.

A list stands under ``items`` (GA4, and what Shopify orders are mapped to), ``line_items``, ``contents``
(Meta, TikTok) or ``products`` (Segment). The properties of a sale without a list are its one item.
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
"""Names of one thing; the first that tells it counts."""

NUMBER_PATTERN: Final = r"^-?[0-9]{1,9}(\.[0-9]{1,9})?$"
"""What counts as a number, in a text too; its sign does not."""

MILLION: Final = 1_000_000
_NUMBER: Final = re.compile(NUMBER_PATTERN, re.ASCII)


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line of an order.

    Attributes:
        quantity: in millionths; 1 where nothing is said.
        worth: price times quantity in millionths of a major unit; None without a price.
    """

    sku: str | None
    variant_id: str | None
    quantity: int
    amount: int | None


def get_raw_line_items(properties: Mapping[str, Any]) -> Sequence[Any]:
    """The items of an event as they were sent; none where it lists none."""
    lists = (properties.get(name) for name in LIST_KEYS)
    return next((found for found in lists if isinstance(found, list) and found), ())


def parse_line_item(sent: Any) -> LineItem:
    """A line as it was sent; with a quantity that is no number, nobody knows of what it is how many."""
    told = sent if isinstance(sent, Mapping) else {}
    said, price = _first_text(told, QUANTITY_KEYS), _parse_number(_first_text(told, PRICE_KEYS))
    quantity = _parse_number(said)
    is_known = said is None or quantity is not None
    count = 1.0 if quantity is None else quantity
    return LineItem(
        _first_text(told, SKU_KEYS) if is_known else None,
        _first_text(told, VARIANT_KEYS) if is_known else None,
        _round_half_up(count * MILLION),
        None if price is None else _round_half_up(price * count * MILLION),
    )


def _first_text(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    texts = (_scalar_as_text(value.get(name)) for name in names)
    return next((text for text in texts if text), None)


def _scalar_as_text(value: Any) -> str | None:
    """A text, number or truth as text; anything else tells nothing."""
    if isinstance(value, str) or value is None:
        return value
    return None if isinstance(value, Mapping | list) else json.dumps(value)


def _parse_number(text: str | None) -> float | None:
    return abs(float(text)) if text is not None and _NUMBER.match(text) else None


def _round_half_up(number: float) -> int:
    """Rounded the way every engine does."""
    return math.floor(number + 0.5)
