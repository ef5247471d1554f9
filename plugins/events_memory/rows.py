"""The rows of the relations, with their columns by name (`insight.measures.Relation`)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from plugins.events_memory.credit import Share, shares
from plugins.events_memory.history import History
from plugins.events_memory.worth import told
from service_core.plugin import (
    ADD_TO_CART,
    CHARGE,
    MONEY_PARTS,
    PAGE_VIEWS,
    PURCHASE,
    Aggregate,
    Event,
    Leaf,
    Predicate,
    Relation,
    Scan,
    Span,
    Visit,
    is_system,
    meets,
    parts_of,
    provider,
    user_id,
)

_DATA: Final = "data:"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the instant it counts at, its own columns, and the events behind it."""

    at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)
    event: Event | None = None
    entry: Event | None = None
    visit: Visit | None = None

    def value(self, column: str) -> Any:
        """The value of a column, or of the first of ``a|b`` that is set.

        Raises:
            ValueError: the relation has no such column.
        """
        return first_set(column, self._value)

    def meets(self, predicates: tuple[Predicate, ...]) -> bool:
        """Whether every predicate is met."""
        return all(meets(self.value(p.column), p.op, p.value) for p in predicates)

    def _value(self, name: str) -> Any:
        if name in self.facts:
            return self.facts[name]
        source, _, column = name.rpartition(".") if not name.startswith(_DATA) else ("", "", name)
        if source == "touch" and "attributed" in self.facts:
            return self.visit.value(column) if self.visit else None
        event = {"": self.event, "entry": self.entry}.get(source)
        if event is None:
            raise ValueError(f"no column {name!r} in this relation")
        return event_value(event, column)


def first_set(column: str, value: Callable[[str], Any]) -> Any:
    """The value of a column, or of the first of ``a|b`` that is set."""
    names = [column] if column.startswith(_DATA) else column.split("|")
    return next((found for found in map(value, names) if found is not None), None)


def event_value(event: Event, column: str) -> Any:
    """A column of an event, or a value inside its ``event_data``."""
    if not column.startswith(_DATA):
        return getattr(event, column)
    value: Any = event.event_data
    for key in column.removeprefix(_DATA).split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def sees(scan: Scan, event: Event) -> bool:
    """Whether an event meets the filters of a scan and lies in its span."""
    return within(scan.span, event.timestamp) and Row(event.timestamp, event=event).meets(scan.filters)


def within(span: Span, at: datetime) -> bool:
    """Whether an instant lies in a span."""
    return span.start <= at < span.end


def rows(leaf: Leaf, plan: Aggregate, history: History) -> Iterator[Row]:
    """The rows a leaf counts, over all time."""
    scan = plan.scan
    match leaf.of:
        case Relation.EVENTS:
            found = _events(history.events, history, scan)
        case Relation.CONVERSIONS:
            found = _events(history.conversions, history, scan)
        case Relation.SESSIONS:
            found = _sessions(history, scan)
        case Relation.MONEY:
            found = _told_money(history, scan)
        case Relation.CREDITS if plan.credit:
            found = (_credit(share, history, scan) for share in shares(history, plan.credit, scan))
        case _:
            raise ValueError(f"an event store has no {leaf.of} for this plan")
    return (row for row in found if row.meets((*scan.filters, *leaf.where)))


def _events(events: list[Event], history: History, scan: Scan) -> Iterator[Row]:
    for event in events:
        person = history.person(event)
        yield Row(
            event.timestamp,
            {
                "session": (event.visitor_id, event.session_id),
                "person": person,
                "identified": user_id(person) is not None,
                "visitor_is_new": _is_new(history.visitors[event.visitor_id], scan),
            },
            event,
            history.entry(event),
        )


def _sessions(history: History, scan: Scan) -> Iterator[Row]:
    for (visitor, _), events in history.sessions.items():
        first, last = events[0], events[-1]
        yield Row(
            first.timestamp,
            {
                "visitor_id": visitor,
                "visitor_is_new": _is_new(history.visitors[visitor], scan),
                **_engagement(events, (last.timestamp - first.timestamp).total_seconds()),
                "engaged": _engaged(events, history),
            },
            entry=first,
        )


def _engagement(events: list[Event], duration: float) -> dict[str, Any]:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    others = (e for e in events if e.event_name not in PAGE_VIEWS)
    names = {e.event_name for e in events}
    return {
        "pageviews": views,
        "events": len(events),
        "duration": duration,
        "bounced": views == 1 and not any(e.interactive and not is_system(e.event_name) for e in others),
        "has_cart": bool(names & ADD_TO_CART),
        "has_purchase": bool(names & PURCHASE),
    }


def _engaged(events: list[Event], history: History) -> bool:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    seconds = (events[-1].timestamp - events[0].timestamp).total_seconds()
    return views >= 1 and (seconds >= 10 or views >= 2 or any(map(history.converts, events)))  # noqa: PLR2004 - 6.5


def _money(history: History, scan: Scan) -> Iterator[Row]:
    for fact in history.movements:
        event, person = fact.event, history.person(fact.event)
        yield Row(
            fact.booked(order_refunds=scan.order_refunds),
            {
                "kind": fact.kind,
                "amount": fact.amount,
                **(parts_of(event) if fact.kind == CHARGE else dict.fromkeys(MONEY_PARTS)),
                "currency": event.currency,
                "provider": provider(event),
                "order_id": event.order_id,
                "person": person,
                "first_order": fact.kind == CHARGE and event.seq in history.first_orders,
                "person_is_new": _is_new(history.persons[person], scan),
            },
        )


def _told_money(history: History, scan: Scan) -> Iterator[Row]:
    """MONEY in the currency of the scan, as far as there are rates."""
    for fact, row in zip(history.movements, _money(history, scan), strict=True):
        yield replace(row, facts=told(scan, fact.booked(order_refunds=True), row.facts))


def _credit(share: Share, history: History, scan: Scan) -> Row:
    unit = share.unit
    return Row(
        share.at,
        {
            "attributed": share.visit is not None,
            "credit": share.credit,
            "order_credit": share.order_credit,
            "amount": share.amount,
            "refunded": share.refunded,
            "is_order": unit.is_order,
            "first_order": unit.is_order and unit.event.seq in history.first_orders,
            "event_name": unit.anchor.event_name,
            "currency": unit.currency,
            "no_rate": unit.currency not in {None, scan.currency},
            "person_is_new": _is_new(history.persons[history.person(unit.anchor)], scan),
        },
        visit=share.visit,
    )


def _is_new(events: list[Event], scan: Scan) -> bool:
    """Whether the first of a visitor's or person's events ever lies in the span."""
    return within(scan.span, events[0].timestamp)
