"""The rows of the relations, with their columns by name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from plugins.events_memory.attribution_credits import TouchCredit, attribution_credits
from plugins.events_memory.currency_conversion import convert_amounts
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    ADD_TO_CART_EVENTS,
    CHARGE,
    CHARGE_COLUMNS,
    PAGE_VIEWS,
    PURCHASE_EVENTS,
    AggregateQuery,
    Aggregation,
    Column,
    ColumnOwner,
    Event,
    Predicate,
    QueryScope,
    Relation,
    TimeRange,
    TouchEvent,
    is_system_event,
    list_charge_components,
    provider_of_payment,
    user_id_of_person,
    value_matches,
)


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A row: the instant it counts at, its own columns, and the events they are read from."""

    at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)
    event: Event | None = None
    entry: Event | None = None
    visit: TouchEvent | None = None

    def value(self, column: Column) -> Any:
        """Returns the value of a column, or of its first fallback that is set.

        Raises:
            ValueError: the relation has no such column.
        """
        return first_set_value(column, self._column_value)

    def matches(self, predicates: tuple[Predicate, ...]) -> bool:
        """Returns whether the row meets all predicates."""
        return all(value_matches(self.value(p.column), p.op, p.value) for p in predicates)

    def _column_value(self, column: Column) -> Any:
        if column.owner is ColumnOwner.ROW and column.name in self.facts:
            return self.facts[column.name]
        if column.owner is ColumnOwner.TOUCH and "attributed" in self.facts:
            return self.visit.value(column.name) if self.visit else None
        events = {
            ColumnOwner.ROW: self.event,
            ColumnOwner.PROPERTY: self.event,
            ColumnOwner.ENTRY: self.entry,
        }
        event = events.get(column.owner)
        is_property = column.owner is ColumnOwner.PROPERTY
        if event is None or not (is_property or hasattr(event, column.name)):
            raise ValueError(f"no column {str(column)!r} in this relation")
        return event_value(event, column)


def first_set_value(column: Column, value: Callable[[Column], Any]) -> Any:
    """Returns the value of a column, or of its first fallback that is set."""
    return next((found for found in map(value, column.candidates) if found is not None), None)


def touch_value(column: Column, touch: TouchEvent) -> Any:
    """Returns the value of a column of a touch, or of its first fallback that is set."""
    return first_set_value(column, lambda part: touch.value(part.name))


def event_value(event: Event, column: Column) -> Any:
    """Returns a column of an event, or a value inside its ``event_data``."""
    if column.owner is not ColumnOwner.PROPERTY:
        return getattr(event, column.name)
    value: Any = event.event_data
    for key in column.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def matches_scan(scan: QueryScope, event: Event) -> bool:
    """Returns whether an event meets the filters of a scan and lies in its span."""
    return is_in_span(scan.span, event.timestamp) and RelationRow(event.timestamp, event=event).matches(
        scan.filters
    )


def is_in_span(span: TimeRange, at: datetime) -> bool:
    """Returns whether an instant lies in a span."""
    return span.start <= at < span.end


def relation_rows(leaf: Aggregation, plan: AggregateQuery, history: WorkspaceEvents) -> Iterator[RelationRow]:
    """Yields the rows that a leaf counts, over all time."""
    scan = plan.scope
    match leaf.relation:
        case Relation.EVENTS:
            found = _event_rows(history.events, history, scan)
        case Relation.CONVERSIONS:
            found = _event_rows(history.conversion_events, history, scan)
        case Relation.SESSIONS:
            found = _session_rows(history, scan)
        case Relation.PAYMENTS:
            found = _converted_payment_rows(history, scan)
        case Relation.CREDITS if plan.credit:
            found = (
                _credit_row(share, history, scan) for share in attribution_credits(history, plan.credit, scan)
            )
        case _:
            raise ValueError(f"an event store has no {leaf.relation} for this plan")
    return (row for row in found if row.matches((*scan.filters, *leaf.where)))


def _event_rows(events: list[Event], history: WorkspaceEvents, scan: QueryScope) -> Iterator[RelationRow]:
    for event in events:
        person = history.person_of(event)
        yield RelationRow(
            event.timestamp,
            {
                "session": (event.visitor_id, event.session_id),
                "person": person,
                "identified": user_id_of_person(person) is not None,
                "visitor_is_new": _is_first_in_span(history.events_by_visitor[event.visitor_id], scan),
            },
            event,
            history.entry_event(event),
        )


def _session_rows(history: WorkspaceEvents, scan: QueryScope) -> Iterator[RelationRow]:
    for (visitor, _), events in history.events_by_session.items():
        first, last = events[0], events[-1]
        yield RelationRow(
            first.timestamp,
            {
                "visitor_id": visitor,
                "visitor_is_new": _is_first_in_span(history.events_by_visitor[visitor], scan),
                **_engagement_facts(events, (last.timestamp - first.timestamp).total_seconds()),
                "engaged": _is_engaged(events, history),
            },
            entry=first,
        )


def _engagement_facts(events: list[Event], duration: float) -> dict[str, Any]:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    others = (e for e in events if e.event_name not in PAGE_VIEWS)
    names = {e.event_name for e in events}
    return {
        "pageviews": views,
        "events": len(events),
        "duration": duration,
        "bounced": views == 1
        and not any(e.interactive and not is_system_event(e.event_name) for e in others),
        "has_cart": bool(names & ADD_TO_CART_EVENTS),
        "has_purchase": bool(names & PURCHASE_EVENTS),
    }


def _is_engaged(events: list[Event], history: WorkspaceEvents) -> bool:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    seconds = (events[-1].timestamp - events[0].timestamp).total_seconds()
    return views >= 1 and (seconds >= 10 or views >= 2 or any(map(history.is_conversion, events)))  # noqa: PLR2004 - 6.5


def _payment_rows(history: WorkspaceEvents, scan: QueryScope) -> Iterator[RelationRow]:
    for fact in history.payments:
        event, person = fact.event, history.person_of(fact.event)
        yield RelationRow(
            fact.booked_at(order_refunds=scan.order_refunds),
            {
                "kind": fact.kind,
                "amount": fact.amount,
                **(list_charge_components(event) if fact.kind == CHARGE else dict.fromkeys(CHARGE_COLUMNS)),
                "currency": event.currency,
                "provider": provider_of_payment(event),
                "order_id": event.order_id,
                "person": person,
                "first_order": fact.kind == CHARGE and event.seq in history.first_order_seqs,
                "person_is_new": _is_first_in_span(history.events_by_person[person], scan),
            },
        )


def _converted_payment_rows(history: WorkspaceEvents, scan: QueryScope) -> Iterator[RelationRow]:
    """Yields the rows of MONEY in the scan's currency, where there are rates."""
    for fact, row in zip(history.payments, _payment_rows(history, scan), strict=True):
        yield replace(row, facts=convert_amounts(scan, fact.booked_at(order_refunds=True), row.facts))


def _credit_row(share: TouchCredit, history: WorkspaceEvents, scan: QueryScope) -> RelationRow:
    unit = share.conversion
    return RelationRow(
        share.at,
        {
            "attributed": share.visit is not None,
            "credit": share.credit,
            "order_credit": share.order_credit,
            "amount": share.amount,
            "refunded": share.refunded,
            "is_order": unit.is_order,
            "first_order": unit.is_order and unit.event.seq in history.first_order_seqs,
            "event_name": unit.order_event.event_name,
            "currency": unit.currency,
            "missing_fx_rate": unit.currency not in {None, scan.currency},
            "person_is_new": _is_first_in_span(
                history.events_by_person[history.person_of(unit.order_event)], scan
            ),
        },
        visit=share.visit,
    )


def _is_first_in_span(events: list[Event], scan: QueryScope) -> bool:
    """Returns whether the first event of a visitor or person lies in the span."""
    return is_in_span(scan.span, events[0].timestamp)
