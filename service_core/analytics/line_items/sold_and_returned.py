"""Which items were sold and which came back: one order counts once, whoever reports it (semantics 10.3, 17).

A charge that counts sold what it lists. One that lists nothing sold what the report of its order lists
that knows best among those that do: a payment knows of no items, the shop's tracking may. Where nobody
lists any, the properties of the charge are its one item. A refund returns what it lists, and needs no
money to; one that lists nothing returns nothing.
"""

from collections.abc import Iterable, Sequence

from service_core.analytics.event_rules.conversions import PRE_PURCHASE_EVENTS, REFUND_EVENTS
from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    deduplicate_orders,
    event_time_key,
    order_match_ids,
    source_precedence,
)
from service_core.analytics.line_items.line_item_lists import get_raw_line_items
from service_core.ingestion.models import Event


def find_event_with_line_items(charge: Event, charges: Iterable[Event]) -> Event:
    """The event that tells what a charge sold: itself, or another report of its order.

    Args:
        charge: one that counts.
        reports: all charges.
    """
    if get_raw_line_items(charge.event_data):
        return charge
    ids = order_match_ids(charge)
    near = [
        one
        for one in charges
        if ids & order_match_ids(one)
        and abs(one.timestamp - charge.timestamp) < ORDER_DEDUP_WINDOW
        and get_raw_line_items(one.event_data)
    ]
    return max(sorted(near, key=event_time_key), key=source_precedence, default=charge)


def select_return_events(events: Iterable[Event]) -> Sequence[Event]:
    """The events that tell what came back, those left out that another report makes superfluous."""
    return deduplicate_orders(
        (e for e in events if _is_return(e)), order_match_ids, allow_several_per_source=True
    )


def _is_return(event: Event) -> bool:
    is_refund = event.event_name in REFUND_EVENTS or (event.revenue or 0) < 0
    is_real = not (event.is_bot or event.is_test or event.event_name in PRE_PURCHASE_EVENTS)
    return is_refund and is_real and bool(get_raw_line_items(event.event_data))
