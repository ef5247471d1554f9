"""Money of events: charges, refunds, and one charge per order, whoever reports it (semantics 10)."""

from collections import defaultdict
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

STOREFRONTS: Final = frozenset({"shopify"})
"""Providers that sell; every other one is paid through. Of an order they know best (semantics 10.3)."""

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


def standing(event: Event) -> tuple[int, str]:
    """How well the reporter of an event knows its order: the greater supersedes the smaller.

    A storefront goes before who was paid through, they go before what was tracked, and among providers
    of a kind the later name does, so that it is one whose word counts, in whatever order they report.
    """
    told_by = provider(event)
    return (0 if told_by == TRACKED else 2 if told_by in STOREFRONTS else 1), told_by


def each_order_once(
    events: Iterable[Event], key: Callable[[Event], Hashable | None], *, in_parts: bool = False
) -> list[Event]:
    """Leave out what another report of the same order makes superfluous (semantics 10.3).

    That is each event which one of its key supersedes that is less than 7 days away, before or after
    it, and each with one of the same reporter less than 7 days before it; whether that one is itself
    left out or not.

    Args:
        events: in order of `moment`.
        key: what makes two events reports of one; None for an event that has no other.
        in_parts: what one reporter tells are different parts, such as refunds, and repeats nothing.
    """
    listed = list(events)
    reports: defaultdict[Hashable, list[Event]] = defaultdict(list)
    for event in listed:
        if (of := key(event)) is not None:
            reports[of].append(event)

    def counts(event: Event) -> bool:
        near = (e for e in reports.get(key(event), ()) if abs(e.timestamp - event.timestamp) < REPEAT)
        return not any(_supersedes(one, event, in_parts=in_parts) for one in near)

    return [event for event in listed if counts(event)]


def _supersedes(one: Event, other: Event, *, in_parts: bool) -> bool:
    if standing(one) != standing(other):
        return standing(one) > standing(other)
    return not in_parts and moment(one) < moment(other)
