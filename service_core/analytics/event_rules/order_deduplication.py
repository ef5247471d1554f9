"""Classifies payments of events, and removes duplicate reports of one order."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from service_core.analytics.event_rules.revenue_events import is_order_event, is_revenue_event
from service_core.analytics.ports import ConversionSet
from service_core.ingestion.amounts import CHARGE_COMPONENTS
from service_core.ingestion.event_names import REFUND_EVENTS
from service_core.ingestion.models import Event

CHARGE: Final = "charge"
"""Kind of a row of `Relation.PAYMENTS`: a charge."""
REFUND: Final = "refund"
"""Kind of a row of `Relation.PAYMENTS`: a refund."""

CHARGE_COLUMNS: Final = ("gross", *CHARGE_COMPONENTS)
"""Components of a charge, as columns of `Relation.PAYMENTS`."""

TRACKED: Final = "tracked"
"""Source of orders that were reported by the tracking API."""
TRACKED_SOURCES: Final = frozenset({"browser", "mobile_app", "api", "web"})
"""Transports of the tracking API; any other source is the id of the provider that sent the event."""

ORDER_DEDUP_WINDOW: Final = timedelta(days=7)
"""Reports of one order within this time count once."""

DEVICE_REPORTER: Final = 0
"""A device of the person reported the order; lower numbers precede higher ones among reports of one order."""
SERVER_REPORTER: Final = 1
"""A server of the site reported the order by the tracking API."""
PROVIDER_REPORTER: Final = 2
"""A revenue provider reported the order."""


def event_time_key(event: Event) -> tuple[datetime, int]:
    """Returns the position of an event in time."""
    return event.timestamp, event.seq


def provider_of_payment(event: Event) -> str:
    """Returns who reported the payment of an event."""
    return TRACKED if event.source in TRACKED_SOURCES else event.source


def classify_as_charge_refund_or_no_payment(event: Event, conversions: ConversionSet) -> str | None:
    """Returns `CHARGE`, `REFUND`, or None if the event moves no money.

    A negative amount and any amount of a ``refund`` event is a refund; its value has no sign. Events of bots and
    test events move no money, nor do names that are no `is_revenue_event` of the workspace.
    """
    name, amount = event.event_name, event.revenue
    if amount is None or event.is_bot or event.is_test or not is_revenue_event(name, conversions):
        return None
    if amount < 0 or (name in REFUND_EVENTS and amount):
        return REFUND
    return CHARGE if amount or is_order_event(name, conversions) else None


def charge_components_zero_if_tracked(charge: Event) -> dict[str, int | None]:
    """Returns the components of a charge in minor units; None for those its provider does not report.

    A tracked charge has no discount, tax, shipping or fee.
    """
    names, amount = CHARGE_COMPONENTS, abs(charge.revenue or 0)
    if provider_of_payment(charge) == TRACKED:
        return {"gross": amount, **dict.fromkeys(names, 0)}
    components: dict[str, int | None] = {name: getattr(charge, name) for name in names}
    discount = components["discount"]
    return {"gross": None if discount is None else amount + discount, **components}


def report_precedence_storefront_first(event: Event) -> tuple[int, int, str]:
    """Returns the precedence of an event among reports of one order: the greater one replaces the smaller.

    Storefronts precede payment providers, these precede tracked events. Among providers of a kind, more known
    components precede, then the later name, so that the choice does not depend on the order of reports.
    """
    provider = provider_of_payment(event)
    if provider == TRACKED:
        return 0, 0, provider
    known_components = sum(getattr(event, name) is not None for name in CHARGE_COMPONENTS)
    return 2 if event.is_storefront else 1, known_components, provider


NO_LINKED_IDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({})


def order_and_payment_ids(event: Event) -> frozenset[str]:
    """Returns the order id and the payment id of an event."""
    return frozenset(id_ for id_ in (event.order_id, event.payment_id) if id_ is not None)


def order_payment_and_message_ids(
    event: Event, linked_ids: Mapping[str, frozenset[str]] = NO_LINKED_IDS
) -> frozenset[str]:
    """Returns the ids that other reports of the same order may name.

    These are the order, its payment, and the message of a provider, which a tracked event may repeat.

    Args:
        event: a report.
        linked_ids: as `linked_order_ids` returns them; a provider's report is also known by the ids linked with its own.
    """
    own = frozenset(id_ for id_ in (event.order_id, event.payment_id, event.message_id) if id_ is not None)
    if provider_of_payment(event) == TRACKED:
        return own
    return own.union(*(linked_ids[id_] for id_ in own if id_ in linked_ids))


def linked_order_ids(events: Iterable[Event]) -> Mapping[str, frozenset[str]]:
    """Returns for each id the order and payment ids of the same order, itself included; absent for an id that is linked with none.

    An event that names an order id and a payment id links them. Ids are of the same order if one event links them, or
    two events that share an id do. Events of bots and test events link nothing.
    """
    named_together: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for event in events:
        ids = order_and_payment_ids(event)
        for id_ in ids if len(ids) > 1 and not event.is_bot and not event.is_test else ():
            named_together[id_] |= ids
    return {id_: ids.union(*(named_together[other] for other in ids)) for id_, ids in named_together.items()}


def deduplicate_order_reports_within_7_days(
    events: Iterable[Event],
    search_keys_of: Callable[[Event], Hashable | None],
    *,
    index_keys_of: Callable[[Event], Hashable | None] | None = None,
    allow_several_per_source: bool = False,
) -> list[Event]:
    """Returns the events that remain after duplicate reports of an order are removed.

    An event is removed if an event with the same key less than 7 days before or after has precedence, or one
    with the same precedence less than 7 days before; whether that one is removed itself does not matter.
    Tracked events are compared with each other by one id: the order id, else the payment id.

    Args:
        events: in order of `event_time_key`.
        search_keys_of: returns the key, or a frozenset of keys, under which an event looks for other reports; None if it
            has none.
        index_keys_of: returns the keys under which other reports find an event; the same as ``search_keys_of`` by default.
        allow_several_per_source: several events of one source are different parts, such as partial refunds.
    """
    events_with_keys = [(event, _as_keys(search_keys_of(event))) for event in events]
    reports: defaultdict[Hashable, list[Event]] = defaultdict(list)
    for event, keys in events_with_keys:
        for match in keys if index_keys_of is None else _as_keys(index_keys_of(event)):
            reports[match].append(event)

    def has_no_preceding_report(event: Event, keys: Iterable[Hashable]) -> bool:
        matches = (
            report
            for match in keys
            for report in reports[match]
            if abs(report.timestamp - event.timestamp) < ORDER_DEDUP_WINDOW
        )
        return not any(
            _takes_precedence_or_is_earlier(other, event, allow_several_per_source=allow_several_per_source)
            for other in matches
        )

    return [event for event, keys in events_with_keys if has_no_preceding_report(event, keys)]


def order_reporter(event: Event) -> int:
    """Returns who reported an order: `DEVICE_REPORTER`, `SERVER_REPORTER` or `PROVIDER_REPORTER`."""
    if event.from_device:
        return DEVICE_REPORTER
    return SERVER_REPORTER if provider_of_payment(event) == TRACKED else PROVIDER_REPORTER


def repeated_order_reports_within_7_days(
    events: Iterable[Event],
    keys_of: Callable[[Event], frozenset[Hashable]],
    match_keys_of: Callable[[Event], frozenset[Hashable]],
) -> list[Event]:
    """Returns the events that repeat another report of the same order, so that each order is one event of its person.

    An event repeats an earlier one of its kind of reporter less than 7 days before, and one of a preferred reporter
    less than 7 days before or after: a page that reports an order keeps its event, although the amount is that of the
    provider's report.

    Args:
        events: in order of `event_time_key`.
        keys_of: returns the keys of the order among reports of one kind of reporter.
        match_keys_of: returns the keys of the order among reports of different kinds.
    """
    reports = list(events)
    repeated = _seqs_of_later_reports(reports, keys_of) | _seqs_of_less_preferred_reports(
        reports, match_keys_of
    )
    return [event for event in reports if event.seq in repeated]


def _seqs_of_later_reports(
    reports: Iterable[Event], keys_of: Callable[[Event], frozenset[Hashable]]
) -> set[int]:
    """Returns the numbers of reports within 7 days after one of the same kind of reporter."""
    latest: dict[Hashable, datetime] = {}
    repeated = set()
    for event in reports:
        keys = [(order_reporter(event), key) for key in keys_of(event)]
        if any(event.timestamp - latest[key] < ORDER_DEDUP_WINDOW for key in keys if key in latest):
            repeated.add(event.seq)
        latest |= dict.fromkeys(keys, event.timestamp)
    return repeated


def _seqs_of_less_preferred_reports(
    reports: Iterable[Event], match_keys_of: Callable[[Event], frozenset[Hashable]]
) -> set[int]:
    """Returns the numbers of reports whose order a preferred reporter reports less than 7 days before or after."""
    by_key: defaultdict[Hashable, list[Event]] = defaultdict(list)
    for event in reports:
        for key in match_keys_of(event):
            by_key[key].append(event)
    return {
        report.seq
        for same_order in by_key.values()
        for report in same_order
        for other in same_order
        if order_reporter(other) < order_reporter(report)
        and abs(other.timestamp - report.timestamp) < ORDER_DEDUP_WINDOW
    }


def ids_that_mark_repeats(event: Event) -> frozenset[str]:
    """Returns the ids by which an event may repeat another one: of a tracked event, the order id, else the payment id."""
    if provider_of_payment(event) != TRACKED:
        return order_and_payment_ids(event)
    order = _order_id_of_tracked_event(event)
    return frozenset() if order is None else frozenset({order})


def _as_keys(key: Hashable | None) -> Iterable[Hashable]:
    return key if isinstance(key, frozenset) else () if key is None else (key,)


def _takes_precedence_or_is_earlier(
    candidate: Event, other: Event, *, allow_several_per_source: bool
) -> bool:
    if report_precedence_storefront_first(candidate) != report_precedence_storefront_first(other):
        return report_precedence_storefront_first(candidate) > report_precedence_storefront_first(other)
    if provider_of_payment(candidate) == TRACKED and _order_id_of_tracked_event(
        candidate
    ) != _order_id_of_tracked_event(other):
        return False
    return not allow_several_per_source and event_time_key(candidate) < event_time_key(other)


def _order_id_of_tracked_event(tracked: Event) -> str | None:
    return tracked.order_id or tracked.payment_id
