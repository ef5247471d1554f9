"""Reads one person with sessions, and conversions with their touch paths."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from plugins.events_memory import people
from plugins.events_memory.currency_conversion import sum_converted_and_flag_missing_rate
from plugins.events_memory.relation_rows import is_in_span_and_matches_filters
from plugins.events_memory.workspace_events import WorkspaceEvents, session_id_of
from service_core.plugin import (
    CHARGE,
    PAGE_VIEWS,
    ConversionPath,
    Event,
    PersonActivity,
    PersonActivityQuery,
    PersonSession,
    TimeRange,
    is_visit_event,
)

_MIN_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_person_activity(
    plan: PersonActivityQuery, history: WorkspaceEvents, profile_events: WorkspaceEvents
) -> PersonActivity:
    """Returns a person with profile, and their newest sessions and conversions in a span.

    Args:
        plan: person, span and limits.
        history: the events of its scan.
        profile_events: all events without bots, for the profile.
    """
    ever = replace(plan.scope, span=TimeRange(_MIN_INSTANT, plan.scope.span.end))
    seen = [
        event
        for event in history.events_by_person.get(plan.person, [])
        if is_in_span_and_matches_filters(plan.scope, event, history)
    ]
    sessions: dict[tuple[str, str], list[Event]] = {}
    for event in filter(is_visit_event, seen):
        sessions.setdefault(session_id_of(event), []).append(event)
    places = {event.seq for event in seen}
    conversions = [event for event in history.conversions_once_per_order if event.seq in places]
    return PersonActivity(
        in_range=people.person_with_counts_of_span_and_all_time_traits(plan.person, plan.scope, history),
        lifetime=people.person_with_counts_of_span_and_all_time_traits(plan.person, ever, history),
        profile=people.read_all_time_profile(plan.person, profile_events),
        last_touch=next(iter(people.person_touches(plan.person, ever, history)[::-1]), None),
        sessions=tuple(
            _to_person_session(session_events, seen, plan, history)
            for session_events in [*sessions.values()][::-1][: plan.max_items]
        ),
        conversions=tuple(
            _conversion_with_path_in_window(event, plan, history)
            for event in conversions[::-1][: plan.max_items]
        ),
    )


def _to_person_session(
    events: list[Event], seen: list[Event], plan: PersonActivityQuery, history: WorkspaceEvents
) -> PersonSession:
    """Returns a session; its revenue includes what revenue providers report under its id."""
    session = session_id_of(events[0])
    seqs = {event.seq for event in seen if session_id_of(event) == session}
    charges = [f for f in history.payments_once_per_order if f.kind == CHARGE and f.event.seq in seqs]
    views = [event for event in events if event.event_name in PAGE_VIEWS]
    revenue, is_foreign = sum_converted_and_flag_missing_rate(plan.scope, charges)
    return PersonSession(
        first_event=events[0],
        ended_at=events[-1].timestamp,
        pageviews=len(views),
        events=len(events),
        exit_page=views[-1].page_path if views else None,
        revenue=revenue,
        foreign_money=is_foreign,
    )


def _conversion_with_path_in_window(
    event: Event, plan: PersonActivityQuery, history: WorkspaceEvents
) -> ConversionPath:
    at = event.timestamp
    counted = [
        v
        for v in history.touch_path_or_reported_touches(event)
        if at - plan.window <= v.event.timestamp <= at
    ]
    path = tuple(visit.to_touch() for visit in counted[-plan.max_items :])
    return ConversionPath(event, path, is_truncated=len(counted) > plan.max_items)
