"""Event names that mean something to every store: standard names and what converts (semantics 2.2, 10.1)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service_core.insight.ports import ConversionSet
from service_core.intake.model import PAGE_VIEWS, Event

SIGNUPS: Final = ("signup", "sign_up", "complete_registration")
LEADS: Final = ("lead",)
CARTS: Final = ("add_to_cart",)
CHECKOUTS: Final = ("checkout_started", "begin_checkout", "initiate_checkout")
PURCHASES: Final = ("purchase", "order_completed", "order_paid")
SUBSCRIPTIONS: Final = ("subscribe", "subscription_started")
TRIALS: Final = ("start_trial", "trial_started")
RENEWALS: Final = ("subscription_renewed",)
REFUNDS: Final = ("refund",)

UNPAID: Final = frozenset({*CARTS, *CHECKOUTS})
"""Steps before a payment: their amount is what may be paid, neither money nor a conversion by itself."""

CONVERTING: Final = frozenset({*SIGNUPS, *LEADS, *PURCHASES, *SUBSCRIPTIONS, *TRIALS})
"""The standard names of the default conversion set."""

_STANDARD: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: group[0]
        for group in (SIGNUPS, CHECKOUTS, PURCHASES, SUBSCRIPTIONS, TRIALS, tuple(sorted(PAGE_VIEWS)))
        for name in group
    }
)


def standard(name: str) -> str:
    """One name for names that count as one: ``order_paid`` -> ``purchase``; others are themselves."""
    return _STANDARD.get(name, name)


def same_as(name: str) -> frozenset[str]:
    """Every name that counts as one with ``name``, itself included."""
    return frozenset(other for other in _STANDARD if _STANDARD[other] == standard(name)) | {name}


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
    return paid and not is_system(event.event_name) and event.event_name not in {*UNPAID, *REFUNDS}
