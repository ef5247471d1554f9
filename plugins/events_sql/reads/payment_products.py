"""The relation PAYMENTS with one row per item, by the same rules as `weighted_parts_by_product` in the core."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.reads.item_lines import absolute_number, first_text_of_keys, listed_lines
from plugins.events_sql.relations.charges_and_refunds import PaymentRows
from plugins.events_sql.relations.currency_conversion import CONVERTED_PREFIX
from plugins.events_sql.relations.relation_rows import RelationRows, require_column, span_conditions
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.largest_remainder import part_by_largest_remainder
from service_core.plugin import (
    CHARGE_COLUMNS,
    MAX_ITEM_WEIGHT,
    QueryScope,
    TimeRange,
    line_item_lists,
)

_SPLIT_COLUMNS: Final = frozenset(
    name for base in ("amount", *CHARGE_COLUMNS) for name in (base, f"{CONVERTED_PREFIX}{base}")
)
"""Amounts that are split over the items, in the currency of the payment and in that of the scope."""

COLUMNS_OF_PARTS: Final = frozenset({"is_main_part", *_SPLIT_COLUMNS})
"""Columns for which the amounts of a payment are split."""

_EQUAL_WEIGHT: Final = sa.literal_column("1", sa.BigInteger)


class ProductPartRows(PaymentRows):
    """The rows of PAYMENTS, one per item, with the part of each amount that is the item's.

    Args:
        scope, span, options: as in `PaymentRows`.
        with_parts: whether to split the amounts; without them only the product of each item is computed.
    """

    def __init__(
        self, scope: QueryScope, span: TimeRange, *, with_parts: bool = True, **options: Any
    ) -> None:
        super().__init__(scope, span, **{**options, "with_origins": True})
        lines = _item_lines_of_payments(self.table, scope, span)
        self.table = _split_amounts_over_item_lines(lines) if with_parts else _lines_with_product(lines)
        self.at = self.table.c.booked
        RelationRows.__init__(self, scope)
        self.where += span_conditions(self.at, span)

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a column of the item, or of its payment."""
        if name in {"product", "is_main_part"}:
            return require_column(self.table, name)
        return super().column_or_joined_fact(name)


def _item_lines_of_payments(payments: Any, scope: QueryScope, span: TimeRange) -> sa.Subquery:
    """Returns a row per item of each payment.

    The items are those of the event that reports the payment, else of the event in which it arose; without a list, the
    properties of the event are the only item.
    """
    own, origin, c = EVENTS.alias("payment_event"), EVENTS.alias("origin_event"), payments.c
    joined = payments.join(own, sa.and_(own.c.seq == c.seq, own.c.timestamp == c.timestamp)).join(
        origin, sa.and_(origin.c.seq == c.origin_seq, origin.c.timestamp == c.origin_at)
    )
    lines = sa.func.coalesce(listed_lines(own), listed_lines(origin), type_=EVENTS.c.event_data.type)
    of_workspace = (event.c.workspace_id == scope.workspace_id for event in (own, origin))
    listed = (
        sa.select(*c, lines.label("item_list"), own.c.event_data.label("own_data"))
        .select_from(joined)
        .where(*of_workspace, *span_conditions(c.booked, span))
        .subquery("listed_payments")
    )
    every = sa.func.coalesce(
        listed.c.item_list, fn.JsonSingletonList(listed.c.own_data), type_=EVENTS.c.event_data.type
    )
    return sa.select(
        *(column for column in listed.c if column.name not in {"item_list", "own_data"}),
        fn.JsonElements(every).label("line"),
    ).subquery("payment_lines")


def _lines_with_product(lines: sa.Subquery) -> sa.Subquery:
    """Returns the items with their product, without the amounts of their payment."""
    kept = [column.name for column in lines.c if column.name not in {"line", *_SPLIT_COLUMNS}]
    texts = _with_id_quantity_and_price_texts(lines, kept).c
    return sa.select(*(texts[name] for name in kept), _product_of_valid_item(texts)).subquery("ledger_parts")


def _split_amounts_over_item_lines(lines: sa.Subquery) -> sa.Subquery:
    """Returns the items with their product, and their part of each amount of the payment."""
    kept = [column.name for column in lines.c if column.name != "line"]
    texts = _with_id_quantity_and_price_texts(lines, kept).c
    weighed = _with_product_and_price_and_quantity_weights(texts, kept)
    placed = _with_places_and_total_weight(_with_price_quantity_or_equal_weight(weighed, kept), kept)
    floors = _with_floors_and_remainders(placed, [name for name in kept if name in _SPLIT_COLUMNS])
    c = floors.c
    return sa.select(
        *(_part_of_amount(c, name).label(name) if name in _SPLIT_COLUMNS else c[name] for name in kept),
        c["product"],
        (c.weight_place == 1).label("is_main_part"),
    ).subquery("ledger_parts")


def _with_id_quantity_and_price_texts(lines: sa.Subquery, kept: list[str]) -> sa.Subquery:
    c = lines.c
    ids = (
        first_text_of_keys(c.line, names)
        for names in (line_item_lists.SKU_KEYS, line_item_lists.VARIANT_KEYS)
    )
    return sa.select(
        *(c[column] for column in kept),
        sa.func.coalesce(*ids).label("item_id"),
        first_text_of_keys(c.line, line_item_lists.QUANTITY_KEYS).label("count_text"),
        first_text_of_keys(c.line, line_item_lists.PRICE_KEYS).label("price_text"),
    ).subquery("item_texts")


def _with_product_and_price_and_quantity_weights(c: Any, kept: list[str]) -> sa.Subquery:
    quantity = sa.func.coalesce(absolute_number(c.count_text), sa.literal_column("1.0", sa.Double))
    return sa.select(
        *(c[name] for name in kept),
        _product_of_valid_item(c),
        _capped_millionths(absolute_number(c.price_text) * quantity).label("by_price"),
        _capped_millionths(quantity).label("by_quantity"),
    ).subquery("weight_candidates")


def _product_of_valid_item(c: Any) -> sa.Label[Any]:
    """Returns the id of an item whose quantity is absent or a number."""
    is_valid = sa.or_(c.count_text.is_(None), absolute_number(c.count_text).is_not(None))
    return sa.type_coerce(sa.case((is_valid, c.item_id)), sa.Text).label("product")


def _with_price_quantity_or_equal_weight(candidates: sa.Subquery, kept: list[str]) -> sa.Subquery:
    """Returns the items with their weight: by price if all have one and any is not free, else by quantity, else 1."""
    c = candidates.c
    of_payment: Any = {"partition_by": c.seq}
    all_priced = sa.func.count().over(**of_payment) == sa.func.count(c.by_price).over(**of_payment)
    facts = sa.select(
        *c,
        sa.and_(all_priced, sa.func.sum(c.by_price).over(**of_payment) > 0).label("has_prices"),
        (sa.func.sum(c.by_quantity).over(**of_payment) > 0).label("has_quantities"),
    ).subquery("weight_facts")
    weight = sa.case(
        (facts.c.has_prices, facts.c.by_price),
        (facts.c.has_quantities, facts.c.by_quantity),
        else_=_EQUAL_WEIGHT,
    )
    return sa.select(
        *(facts.c[name] for name in (*kept, "product")), sa.cast(weight, sa.BigInteger).label("weight")
    ).subquery("weighted_items")


def _with_places_and_total_weight(parts: sa.Subquery, kept: list[str]) -> sa.Subquery:
    """Returns the items with their place by product and by weight, and the weight of all items of the payment."""
    c, by_product = parts.c, parts.c["product"].asc().nulls_last()

    def number_items_of_payment(*order: Expression) -> Expression:
        return sa.func.row_number().over(partition_by=c.seq, order_by=order)

    return sa.select(
        *(c[name] for name in (*kept, "product", "weight")),
        number_items_of_payment(by_product, c.weight).label("place"),
        number_items_of_payment(c.weight.desc(), by_product).label("weight_place"),
        sa.func.sum(c.weight).over(partition_by=c.seq).label("total"),
    ).subquery("placed_parts")


def _with_floors_and_remainders(parts: sa.Subquery, amount_columns: list[str]) -> sa.Subquery:
    """Returns the items with the absolute amounts of the payment, and what `part_by_largest_remainder` reads."""
    c = parts.c

    def exact(name: str) -> Expression:
        return fn.WideInteger(sa.func.abs(c[name])) * fn.WideInteger(c.weight)

    return sa.select(
        *c,
        *(sa.func.abs(c[name]).label(f"size_{name}") for name in amount_columns),
        *(fn.WideIntegerDivide(exact(name), c.total).label(f"floor_size_{name}") for name in amount_columns),
        *(sa.func.mod(exact(name), c.total).label(f"rest_size_{name}") for name in amount_columns),
    ).subquery("floors")


def _part_of_amount(c: Any, name: str) -> Expression:
    """Returns the part of an amount that is the item's; all parts add up to the amount."""
    part = part_by_largest_remainder(c, f"size_{name}", c.seq)
    return sa.case((c[name] < 0, -part), else_=part)


def _capped_millionths(number: Expression) -> Expression:
    rounded = sa.func.floor(
        number * sa.literal_column("1e6", sa.Double) + sa.literal_column("0.5", sa.Double)
    )
    capped = sa.case(
        (
            rounded > sa.literal(float(MAX_ITEM_WEIGHT), sa.Double),
            sa.literal(float(MAX_ITEM_WEIGHT), sa.Double),
        ),
        else_=rounded,
    )
    return sa.cast(capped, sa.BigInteger)
