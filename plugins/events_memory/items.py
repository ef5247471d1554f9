"""Items sold and returned, counted."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from plugins.events_memory.history import History
from plugins.events_memory.rows import within
from service_core.plugin import Event, ItemPlan, ItemSum, item_lists, listing, provider, returning


class _Line(NamedTuple):
    """An item of an order, when it was sold and when it is booked."""

    sold: datetime
    booked: datetime
    told_by: Event
    item: item_lists.Item
    is_listed: bool
    sign: int
    worth: int | None


def items(plan: ItemPlan, history: History) -> list[ItemSum]:
    """Every kind of item that was sold or came back in the span."""
    groups: defaultdict[tuple[Any, ...], list[_Line]] = defaultdict(list)
    for line in (*_sold(history), *_returned(plan, history)):
        if within(plan.scan.span, line.booked):
            groups[_group(line, plan)].append(line)
    return [_sum(group, lines) for group, lines in groups.items()]


def _sold(history: History) -> Iterator[_Line]:
    for charge in history.charges:
        lines = item_lists.listed(listing(charge, history.reports).event_data)
        for sent in lines or (charge.event_data,):
            item = item_lists.item_of(sent)
            worth = item.worth if lines else charge.revenue
            yield _Line(charge.timestamp, charge.timestamp, charge, item, bool(lines), 1, worth)


def _returned(plan: ItemPlan, history: History) -> Iterator[_Line]:
    for refund in returning(history.everything):
        order = history.order_of(refund) or refund
        booked = order.timestamp if plan.scan.order_refunds else refund.timestamp
        for sent in item_lists.listed(refund.event_data):
            yield _Line(
                order.timestamp, booked, order, item_lists.item_of(sent), is_listed=True, sign=-1, worth=0
            )


def _group(line: _Line, plan: ItemPlan) -> tuple[Any, ...]:
    buckets, item = plan.buckets, line.item
    return (
        None if buckets is None else buckets.starts[bisect_right(buckets.starts, line.booked) - 1],
        bisect_right(plan.edges, line.sold),
        item.sku,
        item.variant_id,
        provider(line.told_by),
        line.told_by.currency,
        line.is_listed,
        line.sign,
    )


def _sum(group: tuple[Any, ...], lines: list[_Line]) -> ItemSum:
    *named, sign = group
    quantity = sum(sign * line.item.quantity for line in lines)
    worth = sum(line.worth or 0 for line in lines)
    unpriced = sum(line.worth is None for line in lines)
    return ItemSum(*(*named, quantity, worth, unpriced))
