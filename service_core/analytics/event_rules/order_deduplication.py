"""Money of events: charges, refunds, and one charge per order, whoever reports it (semantics 10)."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Final

from service_core.analytics.event_rules.conversions import PRE_PURCHASE_EVENTS, REFUND_EVENTS
from service_core.analytics.event_rules.event_synonyms import PURCHASE_EVENTS
from service_core.ingestion.amounts import CHARGE_COMPONENTS
from service_core.ingestion.models import Event

CHARGE: Final = "charge"
REFUND: Final = "refund"

CHARGE_COLUMNS: Final = ("gross", *CHARGE_COMPONENTS)
"""What a charge consists of, as columns of the money ledger."""

TRACKED: Final = "tracked"
TRACKED_SOURCES: Final = frozenset({"browser", "mobile_app", "api", "web"})
"""Transports of the tracking API; any other source is the id of the provider that sent the event."""

STOREFRONTS: Final = frozenset({"shopify"})
"""Providers that sell; every other one is paid through. Of an order they know best (semantics 10.3)."""

ZERO_VALUE_ORDERS: Final = PURCHASE_EVENTS | {"subscription_renewed"}
"""Names that make an order at zero value too (semantics 10.5)."""

ORDER_DEDUP_WINDOW: Final = timedelta(days=7)
"""One order is counted once within this time (semantics 10.3)."""


def event_time_key(event: Event) -> tuple[datetime, int]:
    """Where an event stands in time (semantics 1.5)."""
    return event.timestamp, event.seq


def provider_of_payment(event: Event) -> str:
    """Who reported the money of an event."""
    return TRACKED if event.source in TRACKED_SOURCES else event.source


def classify_payment(event: Event) -> str | None:
    """What the money of an event is: `CHARGE`, `REFUND`, or None without any.

    A negative amount and any amount of a ``refund`` event is a refund, its value without the sign.
    Bots, tests and steps before a payment move no money.
    """
    name, amount = event.event_name, event.revenue
    if amount is None or event.is_bot or event.is_test or name in PRE_PURCHASE_EVENTS:
        return None
    if amount < 0 or (name in REFUND_EVENTS and amount):
        return REFUND
    return CHARGE if amount or name in ZERO_VALUE_ORDERS else None


def list_charge_components(charge: Event) -> dict[str, int | None]:
    """What the money of a charge consists of, in minor units; None for what its provider did not tell.

    What was tracked is taken as sent: nothing was taken off it, and nothing stands beside it.
    """
    names, amount = CHARGE_COMPONENTS, abs(charge.revenue or 0)
    if provider_of_payment(charge) == TRACKED:
        return {"gross": amount, **dict.fromkeys(names, 0)}
    told: dict[str, int | None] = {name: getattr(charge, name) for name in names}
    discount = told["discount"]
    return {"gross": None if discount is None else amount + discount, **told}


def source_precedence(event: Event) -> tuple[int, int, str]:
    """How well an event knows its order: the greater supersedes the smaller.

    A storefront goes before who was paid through, they go before what was tracked. Among providers of a
    kind the one goes first that knows more parts of the money, then the later name, so that it is one
    whose word counts, in whatever order they report.
    """
    told_by = provider_of_payment(event)
    if told_by == TRACKED:
        return 0, 0, told_by
    known = sum(getattr(event, name) is not None for name in CHARGE_COMPONENTS)
    return 2 if told_by in STOREFRONTS else 1, known, told_by


def order_or_payment_ids(event: Event) -> frozenset[str]:
    """What an event names its order by: the order itself, or its payment."""
    return frozenset(id_ for id_ in (event.order_id, event.payment_id) if id_ is not None)


def order_match_ids(event: Event) -> frozenset[str]:
    """What the order of an event is known by to others: reports that name one of these are of that order.

    The order, its payment, and of what a provider told its message: who tracks an order may have it from there.
    """
    return frozenset(id_ for id_ in (event.order_id, event.payment_id, event.message_id) if id_ is not None)


def deduplicate_orders(
    events: Iterable[Event],
    key: Callable[[Event], Hashable | None],
    *,
    match_key: Callable[[Event], Hashable | None] | None = None,
    allow_several_per_source: bool = False,
) -> list[Event]:
    """Leave out what another report of the same order makes superfluous (semantics 10.3).

    That is each event which one of its key supersedes that is less than 7 days away, before or after
    it, and each with one of the same standing less than 7 days before it; whether that one is itself
    left out or not. What was tracked is compared with its like by one id: that of its order, else that
    of its payment.

    Args:
        events: in order of `moment`.
        key: what makes an event a report of what another one is known by: it has that, or one of those
            in a frozenset; None for an event that has no other.
        known_by: by what others are known; by default by the same.
        date_chunks: what one reporter tells are different parts, such as refunds, and repeats nothing.
    """
    listed = [(event, _as_keys(key(event))) for event in events]
    reports: defaultdict[Hashable, list[Event]] = defaultdict(list)
    for event, keys in listed:
        for each in keys if match_key is None else _as_keys(match_key(event)):
            reports[each].append(event)

    def counts(event: Event, keys: Iterable[Hashable]) -> bool:
        near = (
            e
            for each in keys
            for e in reports[each]
            if abs(e.timestamp - event.timestamp) < ORDER_DEDUP_WINDOW
        )
        return not any(
            _takes_precedence(one, event, allow_several_per_source=allow_several_per_source) for one in near
        )

    return [event for event, keys in listed if counts(event, keys)]


def _as_keys(key: Hashable | None) -> Iterable[Hashable]:
    return key if isinstance(key, frozenset) else () if key is None else (key,)


def _takes_precedence(candidate: Event, other: Event, *, allow_several_per_source: bool) -> bool:
    if source_precedence(candidate) != source_precedence(other):
        return source_precedence(candidate) > source_precedence(other)
    if provider_of_payment(candidate) == TRACKED and _order_id_of_tracked_event(
        candidate
    ) != _order_id_of_tracked_event(other):
        return False
    return not allow_several_per_source and event_time_key(candidate) < event_time_key(other)


def _order_id_of_tracked_event(tracked: Event) -> str | None:
    return tracked.order_id or tracked.payment_id
