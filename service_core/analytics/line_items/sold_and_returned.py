"""Selects the events whose line items count: one order counts once.

A charge that counts sold the items it lists. If it lists none, the items of the most authoritative report of
the same order count: payments list no items, the tracking of the shop may. Without any list, the properties
of the charge are its only item. A refund returns the items it lists, even without an amount; without a list
it returns nothing.
"""

from collections.abc import Iterable, Sequence

from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    deduplicate_order_reports_within_7_days,
    event_time_key,
    order_payment_and_message_ids,
    report_precedence_storefront_first,
)
from service_core.analytics.event_rules.revenue_events import is_revenue_event
from service_core.analytics.line_items.line_item_lists import raw_line_items_of_first_list
from service_core.analytics.ports import ConversionSet
from service_core.ingestion.event_names import REFUND_EVENTS
from service_core.ingestion.models import Event


def charge_or_best_report_with_line_items(charge: Event, all_charges: Iterable[Event]) -> Event:
    """Returns the event whose line items a charge sold: the charge, or another report of its order.

    Args:
        charge: a charge that counts.
        all_charges: all charges.
    """
    if raw_line_items_of_first_list(charge.event_data):
        return charge
    ids = order_payment_and_message_ids(charge)
    matches = [
        other
        for other in all_charges
        if ids & order_payment_and_message_ids(other)
        and abs(other.timestamp - charge.timestamp) < ORDER_DEDUP_WINDOW
        and raw_line_items_of_first_list(other.event_data)
    ]
    return max(sorted(matches, key=event_time_key), key=report_precedence_storefront_first, default=charge)


def select_deduplicated_return_events(events: Iterable[Event], conversions: ConversionSet) -> Sequence[Event]:
    """Returns the events whose line items were returned, without duplicate reports."""
    return deduplicate_order_reports_within_7_days(
        (e for e in events if _is_return(e, conversions)),
        order_payment_and_message_ids,
        allow_several_per_source=True,
    )


def _is_return(event: Event, conversions: ConversionSet) -> bool:
    is_refund = event.event_name in REFUND_EVENTS or (event.revenue or 0) < 0
    is_real = not (event.is_bot or event.is_test) and is_revenue_event(event.event_name, conversions)
    return is_refund and is_real and bool(raw_line_items_of_first_list(event.event_data))
