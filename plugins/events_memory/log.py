"""Event rows, event names, property keys and the last minutes."""

import json
from collections import Counter
from datetime import datetime
from typing import Any

from plugins.events_memory.history import History, Movement
from plugins.events_memory.rows import sees
from plugins.events_memory.worth import sum_of
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    Event,
    EventName,
    EventPage,
    Events,
    LiveVisitor,
    PropertyKey,
    Scan,
    is_custom,
    json_type,
    moment,
)


def page(plan: EventPage, history: History) -> Events:
    """A page of events, newest first."""
    matching = [event for event in reversed(history.events) if sees(plan.scan, event)]
    older = [event for event in matching if plan.after is None or moment(event) < plan.after]
    end = plan.offset + plan.limit
    total = len(matching) if plan.total else None
    return Events(older[plan.offset : end], total, has_more=len(older) > end)


def names(scan: Scan, history: History) -> list[EventName]:
    """Event names, most frequent first."""
    seen: dict[str, list[datetime]] = {}
    for event in history.events:
        if sees(scan, event):
            seen.setdefault(event.event_name, []).append(event.timestamp)
    found = [EventName(name, len(times), times[0], times[-1]) for name, times in seen.items()]
    return sorted(found, key=lambda name: (-name.count, name.name))


def properties(scan: Scan, limit: int, history: History) -> list[PropertyKey]:
    """Custom keys by event name, the most frequent ones of each."""
    values: dict[tuple[str, str], list[Any]] = {}
    for event in history.events:
        for key in filter(is_custom, event.event_data if sees(scan, event) else ()):
            values.setdefault((event.event_name, key), []).append(event.event_data[key])
    found = [_property(name, key, met) for (name, key), met in values.items()]
    found.sort(key=lambda each: (each.event_name, -each.count, each.key))
    shown: Counter[str] = Counter()
    kept = []
    for each in found:
        shown[each.event_name] += 1
        if shown[each.event_name] <= limit:
            kept.append(each)
    return kept


def _property(name: str, key: str, met: list[Any]) -> PropertyKey:
    known = [value for value in met if value is not None]
    types = {json_type(value) for value in known} or {"null"}
    return PropertyKey(
        event_name=name,
        key=key,
        count=len(met),
        distinct_count=len({json.dumps(value, sort_keys=True) for value in known}),
        sample=known[-1] if known else None,
        type=types.pop() if len(types) == 1 else "mixed",
    )


def live(scan: Scan, received_since: datetime, limit: int, history: History) -> list[LiveVisitor]:
    """Visitors of the last minutes, latest first."""
    charges = {fact.event.seq: fact for fact in history.movements if fact.kind == CHARGE}
    met: dict[str, list[Event]] = {}
    for event in history.events:
        if event.received_at >= received_since and sees(scan, event):
            met.setdefault(event.visitor_id, []).append(event)
    found = [
        LiveVisitor(
            latest=events[-1],
            pageviews=sum(e.event_name in PAGE_VIEWS for e in events),
            events=len(events),
            revenue=_paid(scan, [charges[event.seq] for event in events if event.seq in charges]),
            first_seen=events[0].timestamp,
            last_seen=events[-1].timestamp,
        )
        for _, events in sorted(met.items())
    ]
    return sorted(found, key=lambda visitor: visitor.last_seen, reverse=True)[:limit]


def _paid(scan: Scan, charges: list[Movement]) -> int | None:
    """What charges add up to; None when one has no rate."""
    revenue, is_foreign = sum_of(scan, charges)
    return None if is_foreign else revenue
