"""Reads persons over a span, the person of an id, and the events of a person."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from plugins.events_memory.currency_conversion import sum_converted_and_flag_missing_rate
from plugins.events_memory.relation_rows import is_in_span, is_in_span_and_matches_filters
from plugins.events_memory.workspace_events import WorkspaceEvents, session_id_of
from service_core.plugin import (
    CHARGE,
    IDENTIFY_EVENT,
    MAX_CONFLICTING_PERSONS,
    MAX_ITEMS_PER_PERSON,
    NOT_SET,
    PAGE_VIEWS,
    ConflictingPerson,
    Event,
    ExternalIdConflict,
    LocationAndDevice,
    PeoplePageQuery,
    Person,
    PersonFirstTouch,
    Profile,
    QueryScope,
    Touch,
    event_time_key,
    get_text_trait,
    is_visit_event,
    lower_case_letter_by_letter,
    merge_traits_latest_non_null,
    user_id_of_person,
)

_SORTS: Final[dict[str, Callable[[Person], Any]]] = {
    "last_seen": lambda person: person.last_seen,
    "first_seen": lambda person: person.first_seen,
    "revenue": lambda person: person.revenue,
    "events": lambda person: person.events,
}


def list_people(plan: PeoplePageQuery, history: WorkspaceEvents) -> tuple[list[Person], int]:
    """Returns a page of persons with an event in the span, and the number of all."""
    persons = [
        person
        for person in _persons_in_span(plan.scope, history)
        if _matches_filters_and_search(person, plan)
    ]
    persons.sort(key=lambda person: person.person)
    persons.sort(key=_SORTS[plan.sort], reverse=True)
    return [_to_list_row(person) for person in persons[plan.offset : plan.offset + plan.limit]], len(persons)


def person_with_counts_of_span_and_all_time_traits(
    person: str, scope: QueryScope, history: WorkspaceEvents
) -> Person | None:
    """Returns a person over a span; None without an event there."""
    events = [
        event
        for event in history.events_by_person.get(person, [])
        if is_in_span_and_matches_filters(scope, event, history)
    ]
    return (
        _to_list_row(_summarize_person(person, history.events_by_person[person], events, scope, history))
        if events
        else None
    )


def _to_list_row(person: Person) -> Person:
    """Returns a person with the first visitor ids only; searches use all of them."""
    return replace(person, visitor_ids=person.visitor_ids[:MAX_ITEMS_PER_PERSON])


def _persons_in_span(scope: QueryScope, history: WorkspaceEvents) -> Iterator[Person]:
    for key, all_events in history.events_by_person.items():
        events = [event for event in all_events if is_in_span_and_matches_filters(scope, event, history)]
        if events:
            yield _summarize_person(key, all_events, events, scope, history)


def _summarize_person(
    person_name: str,
    all_events: list[Event],
    events_in_scope: list[Event],
    scope: QueryScope,
    history: WorkspaceEvents,
) -> Person:
    """Returns a person; counts, ids and revenue are those of the events in scope, the traits and first touch of all time.

    Args:
        person_name: the name of the person.
        all_events: all events of the person, oldest first.
        events_in_scope: those in scope, at least one.
        scope: the target currency.
        history: the events of the workspace.
    """
    person_traits = _person_traits(all_events)
    visits = history.touches_by_person.get(person_name, [])
    seen = {event.seq for event in events_in_scope}
    charges = [f for f in history.payments_once_per_order if f.kind == CHARGE and f.event.seq in seen]
    revenue, is_foreign = sum_converted_and_flag_missing_rate(scope, charges)
    return Person(
        person=person_name,
        user_id=user_id_of_person(person_name),
        visitor_id=events_in_scope[-1].visitor_id,
        visitor_ids=tuple(sorted({event.visitor_id for event in events_in_scope})),
        email=get_text_trait(person_traits, "email"),
        name=get_text_trait(person_traits, "name"),
        first_seen=all_events[0].timestamp,
        last_seen=events_in_scope[-1].timestamp,
        sessions=len({session_id_of(event) for event in filter(is_visit_event, events_in_scope)}),
        pageviews=sum(event.event_name in PAGE_VIEWS for event in events_in_scope),
        events=len(events_in_scope),
        conversions=sum(event.seq in seen for event in history.conversions_once_per_order),
        orders=sum(history.is_order(f.event) for f in charges),
        revenue=revenue,
        first_touch=visits[0].to_touch() if visits else None,
        latest_location_and_device=LocationAndDevice.from_event(events_in_scope[-1]),
        foreign_money=is_foreign,
    )


def _matches_filters_and_search(person: Person, plan: PeoplePageQuery) -> bool:
    touch = person.first_touch
    wanted = (
        (plan.person, person.person),
        (plan.identified, person.user_id is not None),
        (plan.utm_source, (touch and touch.utm_source) or NOT_SET),
        (plan.utm_campaign, (touch and touch.campaign) or NOT_SET),
        (plan.country, person.latest_location_and_device.country or NOT_SET),
    )
    return all(
        wanted_value is None or wanted_value == value for wanted_value, value in wanted
    ) and _matches_search(person, plan.search)


def _matches_search(person: Person, search: str | None) -> bool:
    if search is None:
        return True
    ids = (person.email, person.user_id, *person.visitor_ids)
    return any(
        lower_case_letter_by_letter(text).startswith(lower_case_letter_by_letter(search))
        for text in ids
        if text
    )


def resolve_person_strong_id_first(any_id: str, history: WorkspaceEvents) -> str | None:
    """Returns the person of a strong id, else of the latest event with this visitor id, else with this anonymous id.

    A weak id that only occurs in links returns the person it was linked to last.
    """
    if _is_user_id(any_id, history):
        return history.owners.person_of_user_id(any_id)
    for id_field in ("visitor_id", "anonymous_id"):
        events = [event for event in history.events if getattr(event, id_field) == any_id]
        if events:
            return history.person_of(max(events, key=event_time_key))
    links = history.owners.links.get(any_id)
    return history.owners.merged_person(links[-1].person) if links else None


def _is_user_id(any_id: str, history: WorkspaceEvents) -> bool:
    """Returns whether an id is a user id."""
    return any_id in history.owners.canonical_ids or any(
        event.strong_id == any_id for event in history.events
    )


def first_touch_by_known_id(ids: Collection[str], history: WorkspaceEvents) -> dict[str, PersonFirstTouch]:
    """Returns the person of each user id or visitor id with the first touch of the person; unknown ids are left out."""
    seen = {event.visitor_id for event in history.events}
    result: dict[str, PersonFirstTouch] = {}
    for any_id in ids:
        person = resolve_person_strong_id_first(any_id, history)
        if person is not None and (any_id in seen or _is_user_id(any_id, history)):
            visits = history.touches_by_person.get(person, [])
            result[any_id] = PersonFirstTouch(
                user_id_of_person(person), visits[0].to_touch() if visits else None
            )
    return result


def read_all_time_profile(person: str, history: WorkspaceEvents) -> Profile:
    """Returns the all-time ids and traits of a person."""
    ever = history.events_by_person.get(person, [])
    anonymous = {event.anonymous_id for event in ever if event.anonymous_id}
    external = chain.from_iterable((event.external_ids or {}).items() for event in ever)
    return Profile(
        anonymous_ids=tuple(sorted(anonymous)[:MAX_ITEMS_PER_PERSON]),
        external_ids=dict(external),
        traits=_person_traits(ever),
    )


def list_id_conflicts_and_count_all(
    limit: int, history: WorkspaceEvents
) -> tuple[list[ExternalIdConflict], int]:
    """Returns external ids that merge nobody because several persons carry them, and the number of all."""
    claims: defaultdict[tuple[str, str], dict[str, list[Event]]] = defaultdict(dict)
    for event in history.linking_events:
        for external in (event.external_ids or {}).items():
            if external in history.owners.conflicting_external_ids:
                claims[external].setdefault(history.person_of(event), []).append(event)
    shared = [(external, by) for external, by in claims.items() if len(by) > 1]
    shared.sort(key=lambda item: item[0])
    shared.sort(
        key=lambda item: (_count_users(item[1]), max(event_time_key(e[-1]) for e in item[1].values())),
        reverse=True,
    )
    return [_build_id_conflict(*external, by) for external, by in shared[:limit]], len(shared)


def _count_users(persons: Iterable[str]) -> int:
    return sum(user_id_of_person(person) is not None for person in persons)


def _build_id_conflict(
    namespace: str, external_id: str, events_by_person: Mapping[str, list[Event]]
) -> ExternalIdConflict:
    claims = (
        ConflictingPerson(
            p, len(events_by_person[p]), events_by_person[p][-1].event_id, events_by_person[p][-1].timestamp
        )
        for p in sorted(events_by_person)[:MAX_CONFLICTING_PERSONS]
    )
    return ExternalIdConflict(
        namespace, external_id, _count_users(events_by_person), len(events_by_person), tuple(claims)
    )


def person_events_in_scope(person: str, scope: QueryScope, history: WorkspaceEvents) -> list[Event]:
    """Returns all events of a person in the span, oldest first."""
    return [
        event
        for event in history.events_by_person.get(person, [])
        if is_in_span_and_matches_filters(scope, event, history)
    ]


def person_touches(person: str, scope: QueryScope, history: WorkspaceEvents) -> list[Touch]:
    """Returns the person's touches in the span, oldest first."""
    visits = history.touches_by_person.get(person, [])
    return [visit.to_touch() for visit in visits if is_in_span(scope.span, visit.event.timestamp)]


def _person_traits(all_events: list[Event]) -> dict[str, Any]:
    return merge_traits_latest_non_null(
        event.event_data for event in all_events if event.event_name == IDENTIFY_EVENT
    )
