"""Aggregates sold and returned order items."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from plugins.events_memory.relation_rows import is_in_span
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    Event,
    LineItemQuery,
    LineItemSum,
    charge_or_best_report_with_line_items,
    line_item_lists,
    provider_of_payment,
    select_deduplicated_return_events,
)


class _ItemLine(NamedTuple):
    """An item of an order, when it was sold and when it is booked."""

    sold: datetime
    booked: datetime
    reported_by: Event
    item: line_item_lists.LineItem
    is_listed: bool
    sign: int
    worth: int | None


def sum_items_booked_in_span(plan: LineItemQuery, history: WorkspaceEvents) -> list[LineItemSum]:
    """Returns the sums of each item sold or returned in the span."""
    groups: defaultdict[tuple[Any, ...], list[_ItemLine]] = defaultdict(list)
    for line in (*_items_of_charges(history), *_items_of_refunds(plan, history)):
        if is_in_span(plan.scope.span, line.booked):
            groups[_item_group_key(line, plan)].append(line)
    return [_to_item_sum(group, lines) for group, lines in groups.items()]


def _items_of_charges(history: WorkspaceEvents) -> Iterator[_ItemLine]:
    for charge in history.charges:
        lines = line_item_lists.raw_line_items_of_first_list(
            charge_or_best_report_with_line_items(charge, history.charge_reports).event_data
        )
        for line in lines or (charge.event_data,):
            item = line_item_lists.parse_line_item_without_ids_if_bad_quantity(line)
            amount = item.amount if lines else charge.revenue
            yield _ItemLine(charge.timestamp, charge.timestamp, charge, item, bool(lines), 1, amount)


def _items_of_refunds(plan: LineItemQuery, history: WorkspaceEvents) -> Iterator[_ItemLine]:
    for refund in select_deduplicated_return_events(history.all_events, history.conversion_set):
        order = history.charge_of_refund(refund) or refund
        booked = order.timestamp if plan.scope.order_refunds else refund.timestamp
        for line in line_item_lists.raw_line_items_of_first_list(refund.event_data):
            yield _ItemLine(
                order.timestamp,
                booked,
                order,
                line_item_lists.parse_line_item_without_ids_if_bad_quantity(line),
                is_listed=True,
                sign=-1,
                worth=0,
            )


def _item_group_key(line: _ItemLine, plan: LineItemQuery) -> tuple[Any, ...]:
    buckets, item = plan.buckets, line.item
    return (
        None if buckets is None else buckets.starts[bisect_right(buckets.starts, line.booked) - 1],
        bisect_right(plan.period_starts, line.sold),
        item.sku,
        item.variant_id,
        provider_of_payment(line.reported_by),
        line.reported_by.currency,
        line.is_listed,
        line.sign,
    )


def _to_item_sum(group_key: tuple[Any, ...], lines: list[_ItemLine]) -> LineItemSum:
    *key, sign = group_key
    quantity = sum(sign * line.item.quantity for line in lines)
    amount = sum(line.worth or 0 for line in lines)
    unpriced = sum(line.worth is None for line in lines)
    return LineItemSum(*(*key, quantity, amount, unpriced))
