"""What converts: the rule by which an event is in a conversion set (semantics 2.2, 10.1)."""

from typing import Final

from service_core.insight.event_names import ADD_TO_CART, CHECKOUT_STARTED, same_as
from service_core.insight.ports import ConversionSet
from service_core.intake.model import PAGE_VIEWS, Event

REFUND_EVENTS: Final = frozenset({"refund"})
UNPAID: Final = ADD_TO_CART | CHECKOUT_STARTED
"""Steps before a payment: their amount is what may be paid, neither money nor a conversion by itself."""


def standard(name: str) -> str:
    """One name for those that count as one: ``order_paid`` and ``purchase`` give the same."""
    return min(same_as(name))


def is_system(name: str) -> bool:
    """Whether it is a system event (semantics 2.2): ``$identify``, ``$alias`` and so on, no page view."""
    return name.startswith("$") and name not in PAGE_VIEWS


def converts(event: Event, conversions: ConversionSet) -> bool:
    """Whether an event is in the conversion set, before repeats of an order are left out.

    Bots and tests never are. Revenue above 0 makes any event a conversion but a system event, a
    refund and the steps before a payment; a name of the set always does.
    """
    if event.is_bot or event.is_test:
        return False
    if event.event_name in conversions.names:
        return True
    paid = conversions.any_revenue and (event.revenue or 0) > 0
    return paid and not is_system(event.event_name) and event.event_name not in UNPAID | REFUND_EVENTS
