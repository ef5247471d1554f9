"""Reads event rows, event names, property keys and current visitors."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

from plugins.events_memory.currency_conversion import sum_converted_and_flag_missing_rate
from plugins.events_memory.relation_rows import is_in_span_and_matches_filters
from plugins.events_memory.workspace_events import Payment, WorkspaceEvents
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    ActiveVisitor,
    CustomPropertySummary,
    Event,
    EventNameSummary,
    EventPageQuery,
    EventPageResult,
    QueryScope,
    event_time_key,
    is_custom_property,
    is_visit_event,
    json_type_name,
)


def list_events_newest_first(plan: EventPageQuery, history: WorkspaceEvents) -> EventPageResult:
    """Returns a page of events, newest first."""
    matching = [
        event
        for event in reversed(history.events)
        if is_in_span_and_matches_filters(plan.scope, event, history)
    ]
    older = [event for event in matching if plan.after is None or event_time_key(event) < plan.after]
    end = plan.offset + plan.limit
    total = len(matching) if plan.count_total else None
    return EventPageResult(older[plan.offset : end], total, has_more=len(older) > end)


def list_event_names_by_frequency(scope: QueryScope, history: WorkspaceEvents) -> list[EventNameSummary]:
    """Returns event names with counts, most frequent first."""
    seen: dict[str, list[datetime]] = {}
    for event in history.events:
        if is_in_span_and_matches_filters(scope, event, history):
            seen.setdefault(event.event_name, []).append(event.timestamp)
    summaries = [EventNameSummary(name, len(times), times[0], times[-1]) for name, times in seen.items()]
    return sorted(summaries, key=lambda name: (-name.count, name.name))


def list_property_keys_by_event(
    scope: QueryScope, limit_per_event_name: int, history: WorkspaceEvents
) -> list[CustomPropertySummary]:
    """Returns the most frequent custom property keys of each event name."""
    values: dict[tuple[str, str], list[Any]] = {}
    for event in history.events:
        for key in filter(
            is_custom_property,
            event.event_data if is_in_span_and_matches_filters(scope, event, history) else (),
        ):
            values.setdefault((event.event_name, key), []).append(event.event_data[key])
    summaries = [
        _summarize_property_key(name, key, values_of_key) for (name, key), values_of_key in values.items()
    ]
    summaries.sort(key=lambda summary: (summary.event_name, -summary.count, summary.key))
    selected_per_name: Counter[str] = Counter()
    selected = []
    for summary in summaries:
        selected_per_name[summary.event_name] += 1
        if selected_per_name[summary.event_name] <= limit_per_event_name:
            selected.append(summary)
    return selected


def _summarize_property_key(
    event_name: str, property_key: str, property_values: list[Any]
) -> CustomPropertySummary:
    present = [value for value in property_values if value is not None]
    types = {json_type_name(value) for value in present} or {"null"}
    return CustomPropertySummary(
        event_name=event_name,
        key=property_key,
        count=len(property_values),
        distinct_count=len({json.dumps(value, sort_keys=True) for value in present}),
        sample=present[-1] if present else None,
        type=types.pop() if len(types) == 1 else "mixed",
    )


def list_active_visitors_latest_first(
    scope: QueryScope, received_since: datetime, limit: int, history: WorkspaceEvents
) -> list[ActiveVisitor]:
    """Returns visitors with an event received since an instant, latest first."""
    charges = {fact.event.seq: fact for fact in history.payments_once_per_order if fact.kind == CHARGE}
    events_by_visitor: dict[str, list[Event]] = {}
    for event in history.events:
        if event.received_at >= received_since and is_in_span_and_matches_filters(scope, event, history):
            events_by_visitor.setdefault(event.visitor_id, []).append(event)
    active = [
        ActiveVisitor(
            latest_event=visit_events[-1],
            pageviews=sum(e.event_name in PAGE_VIEWS for e in visit_events),
            events=len(visit_events),
            revenue=_total_revenue(scope, [charges[event.seq] for event in events if event.seq in charges]),
            first_seen=visit_events[0].timestamp,
            last_seen=visit_events[-1].timestamp,
        )
        for _, events in sorted(events_by_visitor.items())
        if (visit_events := [*filter(is_visit_event, events)])
    ]
    return sorted(active, key=lambda visitor: visitor.last_seen, reverse=True)[:limit]


def _total_revenue(scope: QueryScope, charges: list[Payment]) -> int | None:
    """Returns the sum of charges; None when one has no exchange rate."""
    revenue, is_foreign = sum_converted_and_flag_missing_rate(scope, charges)
    return None if is_foreign else revenue
