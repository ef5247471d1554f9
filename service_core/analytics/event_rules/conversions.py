"""What converts: the rule by which an event is in a conversion set (semantics 2.2, 10.1)."""

from typing import Final

from service_core.analytics.event_rules.event_synonyms import (
    ADD_TO_CART_EVENTS,
    CHECKOUT_EVENTS,
    list_event_synonyms,
)
from service_core.analytics.ports import ConversionSet
from service_core.ingestion.models import PAGE_VIEWS, Event

REFUND_EVENTS: Final = frozenset({"refund"})
PRE_PURCHASE_EVENTS: Final = ADD_TO_CART_EVENTS | CHECKOUT_EVENTS
"""Steps before a payment: their amount is what may be paid, neither money nor a conversion by itself."""


def canonical_event_name(name: str) -> str:
    """One name for those that count as one: ``order_paid`` and ``purchase`` give the same."""
    return min(list_event_synonyms(name))


def is_system_event(name: str) -> bool:
    """Whether it is a system event (semantics 2.2): ``$identify``, ``$alias`` and so on, no page view."""
    return name.startswith("$") and name not in PAGE_VIEWS


def is_conversion(event: Event, conversions: ConversionSet) -> bool:
    """Whether an event is in the conversion set, before repeats of an order are left out.

    Bots and tests never are. Revenue above 0 makes any event a conversion but a system event, a
    refund and the steps before a payment; a name of the set always does.
    """
    if event.is_bot or event.is_test:
        return False
    if event.event_name in conversions.names:
        return True
    paid = conversions.any_revenue and (event.revenue or 0) > 0
    return (
        paid
        and not is_system_event(event.event_name)
        and event.event_name not in PRE_PURCHASE_EVENTS | REFUND_EVENTS
    )
