"""The events of a workspace in order, and the lists derived from them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    PURCHASE_EVENTS,
    REFUND,
    REFUND_EVENTS,
    RENEWAL_EVENTS,
    RENEWAL_PROPERTY,
    TRACKED,
    ConversionSet,
    Event,
    FilterOperator,
    IdentityMap,
    TouchEvent,
    canonical_event_name,
    charge_of_refund,
    classify_as_charge_refund_or_no_payment,
    deduplicate_order_reports_within_7_days,
    detect_touches_without_bots_and_repeats,
    device_report_of_charge_or_itself,
    entry_event_with_page_view_over_system_event,
    event_time_key,
    ids_that_mark_repeats,
    is_non_bot_conversion_by_name_or_revenue,
    is_order_event,
    is_visit_event,
    linked_order_ids,
    list_client_reported_touches,
    order_and_payment_ids,
    order_payment_and_message_ids,
    provider_of_payment,
    refund_amounts_without_tax_and_shipping,
    repeated_order_reports_within_7_days,
    resolve_identities_ignoring_bots,
    sum_fees_reported_within_7_days_by_charge,
    value_matches,
)

_K = TypeVar("_K", bound=Hashable)
SessionId = tuple[str, str]
"""Visitor id and session id."""


@dataclass(frozen=True, slots=True)
class Payment:
    """A charge or refund.

    Attributes:
        event: the event that reports it.
        kind: `CHARGE` or `REFUND`.
        amount: in minor units, positive; of a refund without the tax and shipping that it gives back.
        order_event: the charge of a refund's order, if there is one.
    """

    event: Event
    kind: str
    amount: int
    order_event: Event | None = None

    def booked_at(self, *, order_refunds: bool) -> datetime:
        """Returns the instant it counts at."""
        return self.order_event.timestamp if self.order_event and order_refunds else self.event.timestamp


class WorkspaceEvents:
    """The events of one workspace, with or without bots.

    Args:
        stored: all events of the workspace.
        revoked: ids of events whose identity links were removed.
        conversions: which events convert.
        include_bots: whether bot events are included. They never convert, pay, make touches or link ids.
    """

    def __init__(
        self,
        stored: Iterable[Event],
        revoked: Collection[str],
        conversions: ConversionSet,
        *,
        include_bots: bool = False,
    ) -> None:
        self.all_events: Sequence[Event] = sorted(stored, key=event_time_key)
        self.events = [e for e in self.all_events if include_bots or not e.is_bot]
        self.conversion_set = conversions
        self._revoked = revoked

    @cached_property
    def owners(self) -> IdentityMap:
        """The result of identity resolution."""
        return resolve_identities_ignoring_bots(self.all_events, self._revoked)

    def person_of(self, event: Event) -> str:
        """Returns the person of an event."""
        return self.owners.merged_person_of_event(event)

    @cached_property
    def linking_events(self) -> list[Event]:
        """Events whose ids count: not of bots, and not revoked."""
        return [e for e in self.all_events if not e.is_bot and e.event_id not in self._revoked]

    @cached_property
    def events_by_session(self) -> dict[SessionId, list[Event]]:
        """Visit events by session, oldest first; a revenue provider has no sessions."""
        return _group_by(filter(is_visit_event, self.events), session_id_of)

    @cached_property
    def events_by_person(self) -> dict[str, list[Event]]:
        """Events by person, oldest first."""
        return _group_by(self.events, self.person_of)

    @cached_property
    def events_by_visitor(self) -> dict[str, list[Event]]:
        """Events by visitor, oldest first."""
        return _group_by(self.events, lambda event: event.visitor_id)

    def entry_event(self, event: Event) -> Event | None:
        """Returns the event that describes how an event's session began; None where no visit event has its session id."""
        return self._entry_event_by_session.get(session_id_of(event))

    def exit_page(self, event: Event) -> str | None:
        """Returns the path of the last page view of an event's session; None without a page view."""
        return self._exit_page_by_session.get(session_id_of(event))

    @cached_property
    def _exit_page_by_session(self) -> dict[SessionId, str | None]:
        return {
            session: view.page_path
            for session, events in self.events_by_session.items()
            for view in events
            if view.event_name in PAGE_VIEWS
        }

    @cached_property
    def _entry_event_by_session(self) -> dict[SessionId, Event]:
        return {
            session: entry_event_with_page_view_over_system_event(events)
            for session, events in self.events_by_session.items()
        }

    def first_seen(self, visitor_id: str) -> datetime:
        """Returns the time of a visitor's first visit event, or of the first event of any kind without one."""
        events = self.events_by_visitor[visitor_id]
        return next(filter(is_visit_event, events), events[0]).timestamp

    @cached_property
    def touches_by_person(self) -> dict[str, list[TouchEvent]]:
        """Touches by person, oldest first."""
        touches: defaultdict[str, list[TouchEvent]] = defaultdict(list)
        for person, visit in detect_touches_without_bots_and_repeats(self.all_events, self.person_of):
            touches[person].append(visit)
        return touches

    def touch_path_or_reported_touches(self, event: Event) -> list[TouchEvent]:
        """Returns the touches of an event's person, or those reported before the event where it has none by then."""
        touches = self.touches_by_person.get(self.person_of(event), [])
        if any(visit.event.timestamp <= event.timestamp for visit in touches):
            return touches
        reporting = [
            e
            for e in self._events_with_reported_touches.get(self.person_of(event), [])
            if event_time_key(e) <= event_time_key(event)
        ]
        return list_client_reported_touches(reporting[-1]) if reporting else []

    @cached_property
    def _events_with_reported_touches(self) -> dict[str, list[Event]]:
        """Events with reported touches, by person, oldest first."""
        return _group_by((e for e in self.all_events if e.reported_touches and not e.is_bot), self.person_of)

    @cached_property
    def conversions_once_per_order(self) -> list[Event]:
        """Conversions, one per name and order."""
        return deduplicate_order_reports_within_7_days(
            (e for e in self.all_events if self.is_conversion(e)),
            _conversion_key,
            index_keys_of=lambda event: _conversion_lookup_key(event, self._linked_order_ids),
        )

    def is_conversion(self, event: Event) -> bool:
        """Returns whether an event is in the conversion set, a repeat of an order included."""
        return is_non_bot_conversion_by_name_or_revenue(event, self.conversion_set)

    @cached_property
    def repeated_order_seqs(self) -> set[int]:
        """Sequence numbers of conversions and orders that repeat another report of the same order and name."""
        reports = (e for e in self.all_events if self._may_report_order(e))
        return {
            e.seq for e in repeated_order_reports_within_7_days(reports, _repeat_keys, _conversion_lookup_key)
        }

    def _may_report_order(self, event: Event) -> bool:
        if event.is_bot or event.is_test or event.event_name in REFUND_EVENTS:
            return False
        return self.is_conversion(event) or is_order_event(event.event_name, self.conversion_set)

    def converts_for_the_first_time(self, event: Event) -> bool:
        """Returns whether an event is in the conversion set and repeats no earlier report of its order."""
        return self.is_conversion(event) and event.seq not in self.repeated_order_seqs

    @cached_property
    def charges(self) -> list[Event]:
        """The charges of orders, one per order."""
        return deduplicate_order_reports_within_7_days(
            self.charge_reports, order_and_payment_ids, index_keys_of=self._ids_of_all_reports
        )

    def _ids_of_all_reports(self, event: Event) -> frozenset[str]:
        return order_payment_and_message_ids(event, self._linked_order_ids)

    @cached_property
    def _linked_order_ids(self) -> Mapping[str, frozenset[str]]:
        return linked_order_ids(self.all_events)

    @cached_property
    def charge_reports(self) -> list[Event]:
        """Events that report a charge, whether or not they count."""
        return [
            e
            for e in self.all_events
            if classify_as_charge_refund_or_no_payment(e, self.conversion_set) == CHARGE
        ]

    def origin_of_payment(self, payment: Payment) -> Event:
        """Returns the event in which a payment arose; of a refund, that of the charge of its order."""
        event = payment.event if payment.kind == CHARGE else payment.order_event
        return (
            payment.event
            if event is None
            else device_report_of_charge_or_itself(event, self._tracked_order_reports)
        )

    @cached_property
    def _tracked_order_reports(self) -> list[Event]:
        charges = {e.seq for e in self.charge_reports}
        return [
            e
            for e in self.all_events
            if provider_of_payment(e) == TRACKED and (e.seq in charges or self.is_conversion(e))
        ]

    @cached_property
    def payments_once_per_order(self) -> list[Payment]:
        """All charges and refunds that count."""
        refund_reports = (
            e
            for e in self.all_events
            if classify_as_charge_refund_or_no_payment(e, self.conversion_set) == REFUND
        )
        refunds = deduplicate_order_reports_within_7_days(
            refund_reports,
            order_and_payment_ids,
            index_keys_of=self._ids_of_all_reports,
            allow_several_per_source=True,
        )
        net_amounts = refund_amounts_without_tax_and_shipping(refunds, self.charges, self._linked_order_ids)
        return [Payment(e, CHARGE, abs(e.revenue or 0)) for e in self.charges] + [
            Payment(e, REFUND, net_amounts.get(e.seq, abs(e.revenue or 0)), self.charge_of_refund(e))
            for e in refunds
        ]

    @cached_property
    def reported_fees(self) -> Mapping[int, int]:
        """Fees of charges that other events report, by the sequence number of the charge."""
        return sum_fees_reported_within_7_days_by_charge(self.charges, self.all_events)

    @cached_property
    def first_charge_seqs(self) -> set[int]:
        """Sequence numbers of the orders that are the first of their person."""
        first: dict[str, int] = {}
        for charge in filter(self.is_order, self.charges):
            first.setdefault(self.person_of(charge), charge.seq)
        return set(first.values())

    @cached_property
    def order_count_up_to_each_order(self) -> Mapping[int, int]:
        """Number of orders of the person up to each order, by its sequence number; renewals count as first order only."""
        counts: dict[int, int] = {}
        for orders in self._orders_by_person.values():
            count = 0
            for position, order in enumerate(orders):
                count += position == 0 or not self._is_renewal(order)
                counts[order.seq] = count
        return counts

    @cached_property
    def microseconds_to_second_order(self) -> Mapping[int, int]:
        """Time from the first order of a person to the next that is no renewal, by sequence number of the first."""
        times: dict[int, int] = {}
        for first, *later in self._orders_by_person.values():
            second = next((order for order in later if not self._is_renewal(order)), None)
            if second is not None:
                times[first.seq] = (second.timestamp - first.timestamp) // timedelta.resolution
        return times

    def _is_renewal(self, order: Event) -> bool:
        return order.event_name in RENEWAL_EVENTS or order.order_id in self._renewal_order_ids

    @cached_property
    def _renewal_order_ids(self) -> set[str]:
        """Ids of orders that a report calls a renewal; not one of a bot or a test."""
        return {
            event.order_id
            for event in self.all_events
            if not event.is_bot
            and not event.is_test
            and event.event_name in PURCHASE_EVENTS
            and event.order_id is not None
            and value_matches(event.event_data.get(RENEWAL_PROPERTY), FilterOperator.EQ, "true")
        }

    @cached_property
    def _orders_by_person(self) -> Mapping[str, Sequence[Event]]:
        orders: dict[str, list[Event]] = {}
        for charge in filter(self.is_order, self.charges):
            orders.setdefault(self.person_of(charge), []).append(charge)
        return orders

    def is_order(self, charge: Event) -> bool:
        """Returns whether a charge is an order."""
        return is_order_event(charge.event_name, self.conversion_set)

    def charge_of_refund(self, refund: Event) -> Event | None:
        """Returns the latest charge of a refund's order that is not after it, else the earliest after it."""
        return charge_of_refund(refund, self.charges, self._linked_order_ids)


def session_id_of(event: Event) -> SessionId:
    """Returns the session of an event."""
    return event.visitor_id, event.session_id


def _conversion_key(event: Event) -> Hashable:
    return frozenset((canonical_event_name(event.event_name), id_) for id_ in order_and_payment_ids(event))


def _repeat_keys(event: Event) -> frozenset[Hashable]:
    return frozenset((canonical_event_name(event.event_name), id_) for id_ in ids_that_mark_repeats(event))


def _conversion_lookup_key(
    event: Event, linked_ids: Mapping[str, frozenset[str]] = MappingProxyType({})
) -> frozenset[Hashable]:
    ids = order_payment_and_message_ids(event, linked_ids)
    return frozenset((canonical_event_name(event.event_name), id_) for id_ in ids)


def _group_by(events: Iterable[Event], key: Callable[[Event], _K]) -> dict[_K, list[Event]]:
    groups: dict[_K, list[Event]] = {}
    for event in events:
        groups.setdefault(key(event), []).append(event)
    return groups
