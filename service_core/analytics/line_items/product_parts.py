"""Splits the amounts of a payment over the products of its items, so that the parts add up to it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from service_core.analytics.line_items.line_item_lists import (
    MILLION,
    PRICE_KEYS,
    QUANTITY_KEYS,
    first_text,
    parse_line_item_without_ids_if_bad_quantity,
    parse_number,
)
from service_core.analytics.measures import Aggregation, Column, Relation
from service_core.analytics.ports import AggregateQuery
from service_core.kernel.money import allocate_by_largest_remainder

MAX_ITEM_WEIGHT: Final = 10**15
"""The greatest weight of an item, in millionths."""

PRODUCT: Final = Column("product")


class ProductPart(NamedTuple):
    """An item of a payment.

    Attributes:
        product: its id; None if unknown.
        weight: its part of the payment, in proportion to the others.
    """

    product: str | None
    weight: int


def counts_items_instead_of_payments(query: AggregateQuery, aggregation: Aggregation) -> bool:
    """Returns whether an aggregation counts the items of payments instead of payments: it, or the query, uses ``product``."""
    if aggregation.relation is not Relation.PAYMENTS:
        return False
    conditions = (*query.scope.filters, *aggregation.where)
    grouped = (dimension.get(Relation.PAYMENTS) for dimension in query.dimensions)
    columns = (*(c for condition in conditions for c in condition.columns), aggregation.column, *grouped)
    return any(PRODUCT in column.candidates for column in columns if column is not None)


def weighted_parts_by_product(raw_items: Sequence[Any]) -> list[ProductPart]:
    """Returns the items by product, unknown ones last; one part without a product for no items.

    The weight is the price times the quantity, where every item has a price and any is not free; else the quantity,
    where any is above 0; else each item weighs the same.
    """
    if not raw_items:
        return [ProductPart(None, 1)]
    items = [item if isinstance(item, Mapping) else {} for item in raw_items]
    weights = _price_times_quantity_weights_or_empty(items) or _quantity_weights(items) or [1 for _ in items]
    parts = [ProductPart(_product_of_item(item), weight) for item, weight in zip(items, weights, strict=True)]
    return sorted(parts, key=lambda part: (part.product is None, part.product or "", part.weight))


def main_part_index(parts: Sequence[ProductPart]) -> int:
    """Returns the index of the item with the greatest weight, at which orders are counted."""
    return max(range(len(parts)), key=lambda index: (parts[index].weight, -index))


def split_amount_by_weight(amount: int | None, parts: Sequence[ProductPart]) -> list[int | None]:
    """Returns the part of an amount for each item by largest remainder, ties to the earlier item; the parts add up to it."""
    if amount is None:
        return [None for _ in parts]
    return [*allocate_by_largest_remainder(amount, [part.weight for part in parts])]


def _product_of_item(item: Mapping[str, Any]) -> str | None:
    parsed = parse_line_item_without_ids_if_bad_quantity(item)
    return parsed.sku or parsed.variant_id


def _quantity(item: Mapping[str, Any]) -> float:
    quantity = parse_number(first_text(item, QUANTITY_KEYS))
    return 1.0 if quantity is None else quantity


def _price_times_quantity_weights_or_empty(items: Sequence[Mapping[str, Any]]) -> list[int]:
    prices = [parse_number(first_text(item, PRICE_KEYS)) for item in items]
    if None in prices:
        return []
    return _weights_unless_all_zero(
        [(price or 0.0) * _quantity(item) for price, item in zip(prices, items, strict=True)]
    )


def _quantity_weights(items: Sequence[Mapping[str, Any]]) -> list[int]:
    return _weights_unless_all_zero(list(map(_quantity, items)))


def _weights_unless_all_zero(numbers: Sequence[float]) -> list[int]:
    weights = [int(min(math.floor(number * MILLION + 0.5), MAX_ITEM_WEIGHT)) for number in numbers]
    return weights if any(weights) else []
