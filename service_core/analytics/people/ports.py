"""Ports for persons. The event store computes no more than is shown."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.analytics.ports import QueryScope
from service_core.ingestion.models import Event

MAX_ITEMS_PER_PERSON: Final = 1000
"""Maximum number of events, touches and ids returned for one person; a shared id may have millions."""

MAX_CONFLICTING_PERSONS: Final = 10
"""Maximum number of persons returned for one conflicting external id."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A touch of a person.

    Predicates, credits and path keys name its columns ``attribution_source``,
    ``attribution_medium``, ``channel`` (never absent: a direct touch has ``(direct)``, ``(none)``,
    ``direct``), ``utm_source``, ``utm_medium``, ``utm_campaign``, ``utm_term``, ``utm_content``,
    ``click_id``, ``click_id_type``, ``lyr`` (None where the touch itself has none; repeated campaign values
    are not its own), ``referrer_host``, ``landing_page`` and ``country`` (of its event). The fields
    ``source`` and ``medium`` are the first two, ``campaign``, ``term`` and ``content`` the UTM values.
    """

    timestamp: datetime
    source: str | None
    medium: str | None
    campaign: str | None
    term: str | None
    content: str | None
    channel: str
    click_id: str | None
    click_id_type: str | None
    referrer: str | None
    landing_page: str | None
    lyr: str | None
    utm_source: str | None = None
    utm_medium: str | None = None


@dataclass(frozen=True, slots=True)
class LocationAndDevice:
    """Location and device of an event."""

    country: str | None
    region: str | None
    city: str | None
    device_type: str | None
    browser: str | None
    os: str | None

    @classmethod
    def from_event(cls, event: Event) -> "LocationAndDevice":
        """Returns those of an event."""
        return cls(*(getattr(event, field.name) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Person:
    """One person over a span.

    ``first_seen`` and ``first_touch`` are the first ever; ``visitor_id`` and ``latest_location_and_device`` are
    those of the last event in the span. ``email`` and ``name`` are traits (`people.traits`). ``revenue``
    sums charges in the currency of the scope; ``foreign_money`` is true if charges in other currencies were
    omitted. ``visitor_ids`` holds the first `MAX_ITEMS_PER_PERSON` by code point.
    """

    person: str
    user_id: str | None
    visitor_id: str
    visitor_ids: tuple[str, ...]
    email: str | None
    name: str | None
    first_seen: datetime
    last_seen: datetime
    sessions: int
    pageviews: int
    events: int
    conversions: int
    orders: int
    revenue: int
    first_touch: Touch | None
    latest_location_and_device: LocationAndDevice
    foreign_money: bool = False


@dataclass(frozen=True, slots=True)
class PeoplePageQuery:
    """A query for a page of persons with an event in the span.

    ``search`` is a prefix of e-mail, user id or visitor id, without case; ``sort`` (``last_seen``,
    ``first_seen``, ``revenue``, ``events``) descends, ties by person. ``utm_*`` are those of the
    first touch, ``country`` the latest, each `NOT_SET` if absent. ``person`` restricts the result to one.
    """

    scope: QueryScope
    limit: int
    offset: int
    sort: str
    search: str | None = None
    identified: bool | None = None
    utm_source: str | None = None
    utm_campaign: str | None = None
    country: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """Ids and traits of a person over all time; ``traits`` as merged by `people.traits`.

    Holds at most `MAX_ITEMS_PER_PERSON` anonymous ids, the first by code point, and as many external ids and
    traits, the latest. External ids are those of the person's own events, including ids that others carry too
    (`ExternalIdConflict`).
    """

    anonymous_ids: tuple[str, ...]
    external_ids: Mapping[str, str]
    traits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConflictingPerson:
    """A person whose events carry an external id: the number of events, and the latest."""

    person: str
    event_count: int
    event_id: str
    last_event_at: datetime


@dataclass(frozen=True, slots=True)
class ExternalIdConflict:
    """An external id that two or more persons carry and that merges none of them.

    Two known persons carry it, or it would connect two of them together with further ids. Events of bots and
    revoked links do not count.

    Attributes:
        namespace: namespace of the external id.
        id: the external id.
        identified_count: number of persons with a user id.
        person_count: number of persons that carry it.
        conflicting_persons: the first `MAX_CONFLICTING_PERSONS` by code point, so identified ones come first.
    """

    namespace: str
    id: str
    identified_count: int
    person_count: int
    conflicting_persons: tuple[ConflictingPerson, ...]


@dataclass(frozen=True, slots=True)
class PersonFirstTouch:
    """The person of an id, and the first touch ever."""

    user_id: str | None
    first_touch: Touch | None


class PersonReader(Protocol):
    """Persons: connected ids, resolved at query time."""

    async def list_people_and_total(self, query: PeoplePageQuery) -> tuple[list[Person], int]:
        """Returns a page of persons and the number of all."""

    async def find_person_of_any_id(self, workspace_id: UUID, any_id: str) -> str | None:
        """Returns the person of a user id, visitor id or anonymous id; None if it was never seen."""

    async def first_touches_of_seen_ids(
        self, workspace_id: UUID, user_or_visitor_ids: Collection[str]
    ) -> Mapping[str, PersonFirstTouch]:
        """Returns the first touches of several ids; ids that were never seen are omitted.

        An id is a user id, else a visitor id, with the person of the visitor's latest event.
        """

    async def list_external_id_conflicts_and_total(
        self, workspace_id: UUID, limit: int
    ) -> tuple[list[ExternalIdConflict], int]:
        """Returns external ids that several persons carry, and the number of all.

        Those of the most identified persons come first, then those carried most recently, then by namespace.
        """

    async def list_latest_person_events(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Event]:
        """Returns the latest events of a person in the span, oldest first."""

    async def list_latest_person_touches(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Touch]:
        """Returns the latest touches of a person in the span, oldest first."""


@dataclass(frozen=True, slots=True)
class PersonActivityQuery:
    """A query for the activity of one person in a span. The scope has no filters.

    Attributes:
        scope: what is read.
        person: as `PersonReader.find_person` returns it.
        window: time before a conversion in which a touch counts.
        max_items: maximum number of sessions, of conversions, and of touches per conversion; the newest.
    """

    scope: QueryScope
    person: str
    window: timedelta
    max_items: int


@dataclass(frozen=True, slots=True)
class PersonSession:
    """The part of a session that belongs to a person and span.

    ``exit_page`` is the path of the last page view. ``revenue`` sums charges in the currency of the scope;
    ``foreign_money`` is true if charges in other currencies were omitted.
    """

    first_event: Event
    ended_at: datetime
    pageviews: int
    events: int
    exit_page: str | None
    revenue: int
    foreign_money: bool


@dataclass(frozen=True, slots=True)
class ConversionPath:
    """A conversion and the touches that count for it, oldest first; ``is_truncated``: there are older ones."""

    event: Event
    path: tuple[Touch, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class PersonActivity:
    """Result of a `PersonActivityQuery`; lists are newest first.

    Attributes:
        in_range: the person over the span; None without an event.
        lifetime: the person up to the end of the span; None without an event.
        profile: ids and traits over all time, without bots.
        last_touch: the latest touch up to the end of the span.
        sessions: sessions in the span.
        conversions: conversions in the span.
    """

    in_range: Person | None
    lifetime: Person | None
    profile: Profile
    last_touch: Touch | None
    sessions: tuple[PersonSession, ...]
    conversions: tuple[ConversionPath, ...]


class PersonActivityReader(Protocol):
    """Reads the activity of one person."""

    async def read_activity(self, query: PersonActivityQuery) -> PersonActivity:
        """Returns the activity of a person. Conversions and duplicates are decided from all events."""
