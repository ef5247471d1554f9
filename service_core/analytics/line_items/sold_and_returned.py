"""Selects the events whose line items count: one order counts once.

A charge that counts sold the items it lists. If it lists none, the items of the most authoritative report of
the same order count: payments list no items, the tracking of the shop may. Without any list, the properties
of the charge are its only item. A refund returns the items it lists, even without an amount; without a list
it returns nothing.
"""

from collections.abc import Iterable, Sequence

from service_core.analytics.event_rules.conversions import PRE_PURCHASE_EVENTS
from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    deduplicate_orders,
    event_time_key,
    list_order_match_ids,
    source_precedence,
)
from service_core.analytics.line_items.line_item_lists import get_raw_line_items
from service_core.ingestion.event_names import REFUND_EVENTS
from service_core.ingestion.models import Event


def find_event_with_line_items(charge: Event, charges: Iterable[Event]) -> Event:
    """Returns the event whose line items a charge sold: the charge, or another report of its order.

    Args:
        charge: a charge that counts.
        charges: all charges.
    """
    if get_raw_line_items(charge.event_data):
        return charge
    ids = list_order_match_ids(charge)
    matches = [
        other
        for other in charges
        if ids & list_order_match_ids(other)
        and abs(other.timestamp - charge.timestamp) < ORDER_DEDUP_WINDOW
        and get_raw_line_items(other.event_data)
    ]
    return max(sorted(matches, key=event_time_key), key=source_precedence, default=charge)


def select_return_events(events: Iterable[Event]) -> Sequence[Event]:
    """Returns the events whose line items were returned, without duplicate reports."""
    return deduplicate_orders(
        (e for e in events if _is_return(e)), list_order_match_ids, allow_several_per_source=True
    )


def _is_return(event: Event) -> bool:
    is_refund = event.event_name in REFUND_EVENTS or (event.revenue or 0) < 0
    is_real = not (event.is_bot or event.is_test or event.event_name in PRE_PURCHASE_EVENTS)
    return is_refund and is_real and bool(get_raw_line_items(event.event_data))
