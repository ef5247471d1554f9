"""Who one person is and what they did: sessions, and conversions with the touches before them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from plugins.events_memory import people
from plugins.events_memory.history import History, session_of
from plugins.events_memory.rows import sees
from plugins.events_memory.worth import sum_of
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    Converted,
    Event,
    Journey,
    JourneyPlan,
    PersonSession,
    Span,
)

_DAWN: Final = datetime(1970, 1, 1, tzinfo=UTC)


def journey(plan: JourneyPlan, history: History, lasting: History) -> Journey:
    """Who a person is, and what they did in a span.

    Args:
        plan: the question.
        history: what its scan sees.
        lasting: what counts for ever, without bots.
    """
    ever = replace(plan.scan, span=Span(_DAWN, plan.scan.span.end))
    seen = [event for event in history.persons.get(plan.person, []) if sees(plan.scan, event)]
    sessions: dict[tuple[str, str], list[Event]] = {}
    for event in seen:
        sessions.setdefault(session_of(event), []).append(event)
    places = {event.seq for event in seen}
    conversions = [event for event in history.conversions if event.seq in places]
    return Journey(
        now=people.one(plan.person, plan.scan, history),
        ever=people.one(plan.person, ever, history),
        profile=people.profile(plan.person, lasting),
        last_touch=next(iter(people.touches(plan.person, ever, history)[::-1]), None),
        sessions=tuple(_session(own, plan, history) for own in [*sessions.values()][::-1][: plan.most]),
        conversions=tuple(_converted(event, plan, history) for event in conversions[::-1][: plan.most]),
    )


def _session(events: list[Event], plan: JourneyPlan, history: History) -> PersonSession:
    own = {event.seq for event in events}
    charges = [f for f in history.movements if f.kind == CHARGE and f.event.seq in own]
    views = [event for event in events if event.event_name in PAGE_VIEWS]
    revenue, is_foreign = sum_of(plan.scan, charges)
    return PersonSession(
        first=events[0],
        ended_at=events[-1].timestamp,
        pageviews=len(views),
        events=len(events),
        exit_page=views[-1].page_path if views else None,
        revenue=revenue,
        foreign_money=is_foreign,
    )


def _converted(event: Event, plan: JourneyPlan, history: History) -> Converted:
    at = event.timestamp
    counted = [v for v in history.path(event) if at - plan.window <= v.event.timestamp <= at]
    path = tuple(visit.touch() for visit in counted[-plan.most :])
    return Converted(event, path, cut=len(counted) > plan.most)
