"""Finds a person by any id or e-mail address, with all events of the person."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from service_core.access.models import Workspace
from service_core.analytics.people.ports import PeoplePageQuery, PersonReader
from service_core.analytics.ports import QueryScope
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.ingestion.models import Event, SupersededEvent
from service_core.ingestion.ports import SupersededEventStore
from service_core.kernel.time_ranges import TimeRange
from service_core.privacy.models import PersonSubject, subject_of_events

ALL_TIME: Final = TimeRange(datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))

MAX_EVENTS: Final = 5_000_000
"""More events than a person has."""

_MAX_SAME_EMAIL: Final = 100


@dataclass(frozen=True, slots=True)
class FoundPerson:
    """A person, or several with the same e-mail address.

    Attributes:
        persons: names as `PersonReader.find_person_of_any_id` returns them; empty if nobody has the id.
        events: their events, bots included.
        subject: what identifies them.
    """

    persons: tuple[str, ...]
    events: tuple[Event, ...]
    subject: PersonSubject


async def find_person_with_events(
    reader: PersonReader, workspace: Workspace, person_id: str, *, max_events: int = MAX_EVENTS
) -> FoundPerson:
    """Returns the person of an id, or all persons with an e-mail address."""
    scope = all_time_scope(workspace)
    persons = await _persons_of(reader, workspace, scope, person_id)
    events: dict[int, Event] = {}
    for person in persons:
        for event in await reader.list_latest_person_events(scope, person, max_events):
            events[event.seq] = event
    found = tuple(events.values())
    return FoundPerson(persons, found, subject_of_events(person_id, found))


async def list_superseded_events_of_person(
    store: SupersededEventStore, workspace: Workspace, subject: PersonSubject
) -> list[SupersededEvent]:
    """Returns the superseded events that carry an id of a person. They count nowhere, so that no person has them."""
    return [
        superseded
        async for piece in store.stream_superseded_events(workspace.id)
        for superseded in piece
        if not subject.ids.isdisjoint(subject_of_events(None, [superseded.event]).ids)
    ]


def all_time_scope(workspace: Workspace) -> QueryScope:
    """Returns the scope of everything in a workspace, bots included."""
    scope = scope_for_workspace_without_bots(workspace, ALL_TIME)
    return QueryScope(
        scope.workspace_id, scope.span, scope.currency, scope.zone, scope.conversions, include_bots=True
    )


async def _persons_of(
    reader: PersonReader, workspace: Workspace, scope: QueryScope, person_id: str
) -> tuple[str, ...]:
    person = await reader.find_person_of_any_id(workspace.id, person_id)
    persons = [] if person is None else [person]
    if "@" in person_id:
        page = PeoplePageQuery(scope, _MAX_SAME_EMAIL, 0, "last_seen", search=person_id)
        same, _ = await reader.list_people_and_total(page)
        persons += [row.person for row in same if (row.email or "").lower() == person_id.lower()]
    return tuple(dict.fromkeys(persons))
