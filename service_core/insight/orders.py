"""Money of tracked events: charges, refunds, and one charge per order (semantics 10)."""

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Final

from service_core.insight.conversions import REFUND_EVENTS, UNPAID
from service_core.insight.event_names import PURCHASE
from service_core.intake.model import Event

CHARGE: Final = "charge"
REFUND: Final = "refund"

TRACKED: Final = "tracked"
TRACKED_SOURCES: Final = frozenset({"browser", "mobile_app", "api", "web"})
"""Transports of the tracking API; any other source is the id of the provider that sent the event."""

FREE_ORDERS: Final = PURCHASE | {"subscription_renewed"}
"""Names that make an order at zero value too (semantics 10.5)."""

REPEAT: Final = timedelta(days=7)
"""One order is counted once within this time (semantics 10.3)."""


def moment(event: Event) -> tuple[datetime, int]:
    """Where an event stands in time (semantics 1.5)."""
    return event.timestamp, event.seq


def provider(event: Event) -> str:
    """Who reported the money of an event."""
    return TRACKED if event.source in TRACKED_SOURCES else event.source


def movement(event: Event) -> str | None:
    """What the money of an event is: `CHARGE`, `REFUND`, or None without any.

    A negative amount and any amount of a ``refund`` event is a refund, its value without the sign.
    Bots, tests and steps before a payment move no money.
    """
    name, amount = event.event_name, event.revenue
    if amount is None or event.is_bot or event.is_test or name in UNPAID:
        return None
    if amount < 0 or (name in REFUND_EVENTS and amount):
        return REFUND
    return CHARGE if amount or name in FREE_ORDERS else None


def without_repeats(events: Iterable[Event], key: Callable[[Event], Hashable | None]) -> list[Event]:
    """Leave out each event that another of its key precedes by less than 7 days, itself left out or not.

    Args:
        events: in order of `moment`.
        key: what makes two events repeats of each other; None for an event that has no repeats.
    """
    latest: dict[Hashable, datetime] = {}
    kept: list[Event] = []
    for event in events:
        of = key(event)
        before = None if of is None else latest.get(of)
        if before is None or event.timestamp - before >= REPEAT:
            kept.append(event)
        if of is not None:
            latest[of] = event.timestamp
    return kept
