"""Which items were sold and which came back: one order counts once, whoever reports it (semantics 10.3, 17).

A charge that counts sold what it lists. One that lists nothing sold what the report of its order lists
that knows best among those that do: a payment knows of no items, the shop's tracking may. Where nobody
lists any, the properties of the charge are its one item. A refund returns what it lists, and needs no
money to; one that lists nothing returns nothing.
"""

from collections.abc import Iterable, Sequence

from service_core.insight.conversions import REFUND_EVENTS, UNPAID
from service_core.insight.items.item_lists import listed
from service_core.insight.orders import REPEAT, each_order_once, moment, order_ids, standing
from service_core.intake.model import Event


def listing(charge: Event, reports: Iterable[Event]) -> Event:
    """The event that tells what a charge sold: itself, or another report of its order.

    Args:
        charge: one that counts.
        reports: all charges.
    """
    if listed(charge.event_data):
        return charge
    ids = order_ids(charge)
    near = [
        one
        for one in reports
        if ids & order_ids(one) and abs(one.timestamp - charge.timestamp) < REPEAT and listed(one.event_data)
    ]
    return max(sorted(near, key=moment), key=standing, default=charge)


def returning(events: Iterable[Event]) -> Sequence[Event]:
    """The events that tell what came back, those left out that another report makes superfluous."""
    return each_order_once((e for e in events if _returns(e)), order_ids, in_parts=True)


def _returns(event: Event) -> bool:
    is_refund = event.event_name in REFUND_EVENTS or (event.revenue or 0) < 0
    is_real = not (event.is_bot or event.is_test or event.event_name in UNPAID)
    return is_refund and is_real and bool(listed(event.event_data))
