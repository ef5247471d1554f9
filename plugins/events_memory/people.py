"""Persons over a span, who an id belongs to, and what a person did (semantics 5)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from plugins.events_memory.history import History, session_of
from plugins.events_memory.rows import sees, within
from plugins.events_memory.worth import sum_of
from service_core.plugin import (
    CHARGE,
    IDENTIFY,
    MOST_CLAIMS,
    MOST_OF_A_PERSON,
    NOT_SET,
    PAGE_VIEWS,
    Claim,
    Contested,
    Event,
    Origin,
    PeoplePage,
    Person,
    Profile,
    Scan,
    Touch,
    Whereabouts,
    moment,
    text_trait,
    traits,
    uncased,
    user_id,
)

_SORTS: Final[dict[str, Callable[[Person], Any]]] = {
    "last_seen": lambda person: person.last_seen,
    "first_seen": lambda person: person.first_seen,
    "revenue": lambda person: person.revenue,
    "events": lambda person: person.events,
}


def page(plan: PeoplePage, history: History) -> tuple[list[Person], int]:
    """A page of persons with an event in the span, and the number of all."""
    found = [person for person in _persons(plan.scan, history) if _asked(person, plan)]
    found.sort(key=lambda person: person.person)
    found.sort(key=_SORTS[plan.sort], reverse=True)
    return [_told(person) for person in found[plan.offset : plan.offset + plan.limit]], len(found)


def one(person: str, scan: Scan, history: History) -> Person | None:
    """A person over a span; none without an event there."""
    events = [event for event in history.persons.get(person, []) if sees(scan, event)]
    return _told(_person(person, history.persons[person], events, scan, history)) if events else None


def _told(person: Person) -> Person:
    """A person as the page tells of them; they are found by any of their ids."""
    return replace(person, visitor_ids=person.visitor_ids[:MOST_OF_A_PERSON])


def _persons(scan: Scan, history: History) -> Iterator[Person]:
    for key, ever in history.persons.items():
        events = [event for event in ever if sees(scan, event)]
        if events:
            yield _person(key, ever, events, scan, history)


def _person(key: str, ever: list[Event], events: list[Event], scan: Scan, history: History) -> Person:
    known = _traits(ever)
    visits = history.visits.get(key, [])
    seen = {event.seq for event in events}
    charges = [f for f in history.movements if f.kind == CHARGE and f.event.seq in seen]
    revenue, is_foreign = sum_of(scan, charges)
    return Person(
        person=key,
        user_id=user_id(key),
        visitor_id=events[-1].visitor_id,
        visitor_ids=tuple(sorted({event.visitor_id for event in events})),
        email=text_trait(known, "email"),
        name=text_trait(known, "name"),
        first_seen=ever[0].timestamp,
        last_seen=events[-1].timestamp,
        sessions=len({session_of(event) for event in events}),
        pageviews=sum(event.event_name in PAGE_VIEWS for event in events),
        events=len(events),
        conversions=sum(event.seq in seen for event in history.conversions),
        orders=len(charges),
        revenue=revenue,
        first_touch=visits[0].touch() if visits else None,
        latest=Whereabouts.of(events[-1]),
        foreign_money=is_foreign,
    )


def _asked(person: Person, plan: PeoplePage) -> bool:
    touch = person.first_touch
    wanted = (
        (plan.person, person.person),
        (plan.identified, person.user_id is not None),
        (plan.utm_source, (touch and touch.utm_source) or NOT_SET),
        (plan.utm_campaign, (touch and touch.campaign) or NOT_SET),
        (plan.country, person.latest.country or NOT_SET),
    )
    return all(asked is None or asked == value for asked, value in wanted) and _found(person, plan.search)


def _found(person: Person, search: str | None) -> bool:
    if search is None:
        return True
    ids = (person.email, person.user_id, *person.visitor_ids)
    return any(uncased(text).startswith(uncased(search)) for text in ids if text)


def resolve(any_id: str, history: History) -> str | None:
    """The person of a strong id, else of the latest event with this visitor id, else anonymous id.

    A weak id that only ever stood beside others leads to the person it was linked to last.
    """
    if _is_known(any_id, history):
        return history.owners.known(any_id)
    for of in ("visitor_id", "anonymous_id"):
        events = [event for event in history.events if getattr(event, of) == any_id]
        if events:
            return history.person(max(events, key=moment))
    links = history.owners.links.get(any_id)
    return history.owners.whole(links[-1].person) if links else None


def _is_known(any_id: str, history: History) -> bool:
    """Whether it is a user id."""
    return any_id in history.owners.names or any(event.strong_id == any_id for event in history.events)


def origins(ids: Collection[str], history: History) -> dict[str, Origin]:
    """Where the persons of user ids and visitor ids came from."""
    seen = {event.visitor_id for event in history.events}
    found: dict[str, Origin] = {}
    for any_id in ids:
        person = resolve(any_id, history)
        if person is not None and (any_id in seen or _is_known(any_id, history)):
            visits = history.visits.get(person, [])
            found[any_id] = Origin(user_id(person), visits[0].touch() if visits else None)
    return found


def profile(person: str, history: History) -> Profile:
    """Ids and traits of a person over all time."""
    ever = history.persons.get(person, [])
    anonymous = {event.anonymous_id for event in ever if event.anonymous_id}
    external = chain.from_iterable((event.external_ids or {}).items() for event in ever)
    return Profile(
        anonymous_ids=tuple(sorted(anonymous)[:MOST_OF_A_PERSON]),
        external_ids=dict(external),
        traits=_traits(ever),
    )


def contested(limit: int, history: History) -> tuple[list[Contested], int]:
    """External ids that link nobody because several persons carry them, and the number of all."""
    said: defaultdict[tuple[str, str], dict[str, list[Event]]] = defaultdict(dict)
    for event in history.linking:
        for external in (event.external_ids or {}).items():
            if external in history.owners.conflicts:
                said[external].setdefault(history.person(event), []).append(event)
    shared = [(external, by) for external, by in said.items() if len(by) > 1]
    shared.sort(key=lambda one: one[0])
    shared.sort(key=lambda one: (_users(one[1]), max(moment(e[-1]) for e in one[1].values())), reverse=True)
    return [_contested(*external, by) for external, by in shared[:limit]], len(shared)


def _users(persons: Iterable[str]) -> int:
    return sum(user_id(person) is not None for person in persons)


def _contested(namespace: str, external_id: str, by: Mapping[str, list[Event]]) -> Contested:
    claims = (Claim(p, len(by[p]), by[p][-1].event_id, by[p][-1].timestamp) for p in sorted(by)[:MOST_CLAIMS])
    return Contested(namespace, external_id, _users(by), len(by), tuple(claims))


def events_of(person: str, scan: Scan, history: History) -> list[Event]:
    """Every event of a person in the span, oldest first."""
    return [event for event in history.persons.get(person, []) if sees(scan, event)]


def touches(person: str, scan: Scan, history: History) -> list[Touch]:
    """The person's touches in the span, oldest first."""
    visits = history.visits.get(person, [])
    return [visit.touch() for visit in visits if within(scan.span, visit.event.timestamp)]


def _traits(ever: list[Event]) -> dict[str, Any]:
    return traits(event.event_data for event in ever if event.event_name == IDENTIFY)
