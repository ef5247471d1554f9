"""The rows of the relations, with their columns by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from plugins.events_memory.attribution_credits import TouchCredit, attribution_credits_of_all_time
from plugins.events_memory.currency_conversion import convert_and_flag_missing_rate
from plugins.events_memory.workspace_events import WorkspaceEvents
from service_core.plugin import (
    ADD_TO_CART_EVENTS,
    CHARGE,
    CHARGE_COLUMNS,
    PAGE_VIEWS,
    PROPERTY_OWNERS,
    PURCHASE_EVENTS,
    AggregateQuery,
    Aggregation,
    Column,
    ColumnOwner,
    Condition,
    Event,
    QueryScope,
    Relation,
    TimeRange,
    TouchEvent,
    charge_components_zero_if_tracked,
    condition_matches,
    counts_items_instead_of_payments,
    is_system_event,
    line_item_lists,
    main_part_index,
    property_label,
    provider_of_payment,
    reported_fee_or_by_rate,
    split_amount_by_weight,
    user_id_of_person,
    weighted_parts_by_product,
)


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A row: the instant it counts at, its own columns, and the events they are read from.

    ``property_event`` has the properties of a row whose other columns are no columns of an event.
    """

    at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)
    event: Event | None = None
    entry: Event | None = None
    has_no_entry: bool = False
    property_event: Event | None = None
    may_have_touch: bool = False
    raw_items: Sequence[Any] = ()
    visit: TouchEvent | None = None

    def value_or_first_fallback(self, column: Column) -> Any:
        """Returns the value of a column, or of its first fallback that is set.

        Raises:
            ValueError: the relation has no such column.
        """
        return first_set_value(column, self._value_without_fallback)

    def matches(self, conditions: tuple[Condition, ...]) -> bool:
        """Returns whether the row meets all conditions."""
        return all(condition_matches(condition, self.value_or_first_fallback) for condition in conditions)

    def _value_without_fallback(self, column: Column) -> Any:
        if column.owner is ColumnOwner.ROW and column.name in self.facts:
            return self.facts[column.name]
        if column.owner is ColumnOwner.TOUCH and self.may_have_touch:
            return self.visit.column_value_as_classified(column.name) if self.visit else None
        events = {
            ColumnOwner.ROW: self.event,
            ColumnOwner.PROPERTY: self.property_event or self.event,
            ColumnOwner.PROPERTY_LABEL: self.property_event or self.event,
            ColumnOwner.ENTRY: self.entry,
        }
        event = events.get(column.owner)
        if column.owner is ColumnOwner.ENTRY and self.has_no_entry:
            return None
        is_property = column.owner in PROPERTY_OWNERS
        if event is None or not (is_property or hasattr(event, column.name)):
            raise ValueError(f"no column {str(column)!r} in this relation")
        return event_field_or_property(event, column)


def first_set_value(column: Column, value: Callable[[Column], Any]) -> Any:
    """Returns the value of a column, or of its first fallback that is set."""
    return next((set_value for set_value in map(value, column.candidates) if set_value is not None), None)


def touch_value(column: Column, touch: TouchEvent) -> Any:
    """Returns the value of a column of a touch, or of its first fallback that is set."""
    return first_set_value(column, lambda part: touch.column_value_as_classified(part.name))


def event_field_or_property(event: Event, column: Column) -> Any:
    """Returns a column of an event, or a value inside its ``event_data``."""
    if column.owner not in PROPERTY_OWNERS:
        return getattr(event, column.name)
    value: Any = event.event_data
    for key in column.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if column.owner is ColumnOwner.PROPERTY else property_label(value)


def is_in_span_and_matches_filters(scope: QueryScope, event: Event, history: WorkspaceEvents) -> bool:
    """Returns whether an event meets the filters of a scope and lies in its span."""
    return is_in_span(scope.span, event.timestamp) and (
        not scope.filters or event_row(event, history, scope).matches(scope.filters)
    )


def is_in_span(span: TimeRange, at: datetime) -> bool:
    """Returns whether an instant lies in a span."""
    return span.start <= at < span.end


def relation_rows(
    aggregation: Aggregation, plan: AggregateQuery, history: WorkspaceEvents
) -> Iterator[RelationRow]:
    """Yields the rows that an aggregation counts, over all time."""
    scope = plan.scope
    match aggregation.relation:
        case Relation.EVENTS:
            candidates = _event_rows(history.events, history, scope)
        case Relation.CONVERSIONS:
            candidates = _event_rows(history.conversions_once_per_order, history, scope)
        case Relation.SESSIONS:
            candidates = _session_rows(history, scope)
        case Relation.PAYMENTS:
            candidates = _converted_payment_rows(history, scope)
            if counts_items_instead_of_payments(plan, aggregation):
                candidates = (part for row in candidates for part in _split_by_product(row))
        case Relation.CREDITS if plan.credit:
            candidates = (
                credit_row(share, history, scope)
                for share in attribution_credits_of_all_time(history, plan.credit, scope)
            )
        case _:
            raise ValueError(f"an event store has no {aggregation.relation} for this plan")
    return (row for row in candidates if row.matches((*scope.filters, *aggregation.where)))


def _event_rows(events: list[Event], history: WorkspaceEvents, scope: QueryScope) -> Iterator[RelationRow]:
    return (event_row(event, history, scope) for event in events)


def event_row(event: Event, history: WorkspaceEvents, scope: QueryScope) -> RelationRow:
    """Returns the row of EVENTS of one event."""
    person, entry = history.person_of(event), history.entry_event(event)
    return RelationRow(
        event.timestamp,
        {
            "session": (event.visitor_id, event.session_id),
            "person": person,
            "identified": user_id_of_person(person) is not None,
            "visitor_is_new": is_in_span(scope.span, history.first_seen(event.visitor_id)),
            "exit_page": history.exit_page(event),
        },
        event,
        entry,
        has_no_entry=entry is None,
    )


def _session_rows(history: WorkspaceEvents, scope: QueryScope) -> Iterator[RelationRow]:
    for (visitor, _), events in history.events_by_session.items():
        first, last = events[0], events[-1]
        yield RelationRow(
            first.timestamp,
            {
                "visitor_id": visitor,
                "visitor_is_new": is_in_span(scope.span, history.first_seen(visitor)),
                **_session_engagement_columns(
                    events, (last.timestamp - first.timestamp).total_seconds(), history.repeated_order_seqs
                ),
                "engaged": _has_10_seconds_2_views_or_new_conversion(events, history),
                "exit_page": history.exit_page(first),
            },
            entry=history.entry_event(first),
            property_event=history.entry_event(first),
        )


def _session_engagement_columns(
    events: list[Event], duration: float, repeated_order_seqs: set[int]
) -> dict[str, Any]:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    others = (e for e in events if e.event_name not in PAGE_VIEWS)
    names = {e.event_name for e in events if e.seq not in repeated_order_seqs}
    return {
        "pageviews": views,
        "events": len(events),
        "duration": duration,
        "bounced": views == 1
        and not any(e.interactive and not is_system_event(e.event_name) for e in others),
        "has_cart": bool(names & ADD_TO_CART_EVENTS),
        "has_purchase": bool(names & PURCHASE_EVENTS),
    }


def _has_10_seconds_2_views_or_new_conversion(events: list[Event], history: WorkspaceEvents) -> bool:
    views = sum(e.event_name in PAGE_VIEWS for e in events)
    seconds = (events[-1].timestamp - events[0].timestamp).total_seconds()
    if views >= 1 and (seconds >= 10 or views >= 2):  # noqa: PLR2004 - 6.5
        return True
    return views >= 1 and any(map(history.converts_for_the_first_time, events))


def _unconverted_payment_rows(history: WorkspaceEvents, scope: QueryScope) -> Iterator[RelationRow]:
    for payment in history.payments_once_per_order:
        event, person = payment.event, history.person_of(payment.event)
        origin = history.origin_of_payment(payment)
        entry, touches = history.entry_event(origin), history.touches_by_person.get(person)
        yield RelationRow(
            payment.booked_at(order_refunds=scope.order_refunds),
            {
                "kind": payment.kind,
                "is_main_part": True,
                "amount": payment.amount,
                **(
                    {
                        **charge_components_zero_if_tracked(event),
                        "fee": reported_fee_or_by_rate(
                            event, history.reported_fees.get(event.seq), scope.fee_rates
                        ),
                    }
                    if payment.kind == CHARGE
                    else dict.fromkeys(CHARGE_COLUMNS)
                ),
                "currency": event.currency,
                "provider": provider_of_payment(event),
                "order_id": event.order_id,
                "person": person,
                "is_order": payment.kind == CHARGE and history.is_order(event),
                "first_order": payment.kind == CHARGE and event.seq in history.first_charge_seqs,
                "orders_so_far": history.order_count_up_to_each_order.get(event.seq),
                "microseconds_to_second_order": history.microseconds_to_second_order.get(event.seq),
                "timestamp": event.timestamp,
                "event_id": event.event_id,
                "rated_at": payment.booked_at(order_refunds=True),
                "person_is_new": _is_first_in_span(history.events_by_person[person], scope),
            },
            entry=entry,
            has_no_entry=entry is None,
            property_event=origin,
            raw_items=raw_line_items(event) or raw_line_items(origin) or (event.event_data,),
            may_have_touch=True,
            visit=touches[0] if touches else None,
        )


def _converted_payment_rows(history: WorkspaceEvents, scope: QueryScope) -> Iterator[RelationRow]:
    """Yields the rows of MONEY in the scope's currency, where there are rates."""
    for payment, row in zip(
        history.payments_once_per_order, _unconverted_payment_rows(history, scope), strict=True
    ):
        yield replace(
            row, facts=convert_and_flag_missing_rate(scope, payment.booked_at(order_refunds=True), row.facts)
        )


def _split_by_product(row: RelationRow) -> Iterator[RelationRow]:
    """Yields a row of PAYMENTS per item of the payment, with its part of each amount."""
    parts = weighted_parts_by_product(row.raw_items)
    amounts = {name: split_amount_by_weight(row.facts[name], parts) for name in ("amount", *CHARGE_COLUMNS)}
    for index, part in enumerate(parts):
        own = {name: of_parts[index] for name, of_parts in amounts.items()}
        is_main = index == main_part_index(parts)
        yield replace(row, facts={**row.facts, **own, "product": part.product, "is_main_part": is_main})


def raw_line_items(event: Event) -> Sequence[Any]:
    """Returns the items that an event lists, as sent."""
    return line_item_lists.raw_line_items_of_first_list(event.event_data)


def credit_row(touch_credit: TouchCredit, history: WorkspaceEvents, scope: QueryScope) -> RelationRow:
    """Returns the row of CREDITS of the part that one touch gets."""
    unit = touch_credit.conversion
    return RelationRow(
        touch_credit.at,
        {
            "attributed": touch_credit.visit is not None,
            "credit": touch_credit.credit,
            "order_credit": touch_credit.order_credit,
            "amount": touch_credit.amount,
            "refunded": touch_credit.refunded,
            "is_order": unit.is_order,
            "first_order": unit.is_order and unit.event.seq in history.first_charge_seqs,
            "event_name": unit.order_event.event_name,
            "currency": unit.currency,
            "missing_fx_rate": unit.currency not in {None, scope.currency},
            "person_is_new": _is_first_in_span(
                history.events_by_person[history.person_of(unit.order_event)], scope
            ),
        },
        may_have_touch=True,
        visit=touch_credit.visit,
    )


def _is_first_in_span(events: list[Event], scope: QueryScope) -> bool:
    """Returns whether the first event of a visitor or person lies in the span."""
    return is_in_span(scope.span, events[0].timestamp)
