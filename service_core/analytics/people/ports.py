"""Persons and what is asked about them; an event store answers, and works out as much as is shown."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.analytics.ports import QueryScope
from service_core.ingestion.models import Event

MAX_ITEMS_PER_PERSON: Final = 1000
"""Events, touches and ids that are told of one person at once; a shared id may have millions."""

MAX_CONFLICTING_PERSONS: Final = 10
"""Persons that are told of one contested external id; what everybody sends, such as a default, may have millions."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A touch of a person (semantics 8).

    Predicates, credits and path keys call its columns ``attribution_source``,
    ``attribution_medium``, ``channel`` (never absent: a direct touch has ``(direct)``, ``(none)``,
    ``direct``), ``utm_source``, ``utm_medium``, ``utm_campaign``, ``utm_term``, ``utm_content``,
    ``click_id``, ``click_id_type``, ``lyr`` (None where the touch itself has none; carried values
    are not its own), ``referrer_host``, ``landing_page`` and ``country`` (of its event). Here
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
    """Place and device, as an event tells them."""

    country: str | None
    region: str | None
    city: str | None
    device_type: str | None
    browser: str | None
    os: str | None

    @classmethod
    def from_event(cls, event: Event) -> "LocationAndDevice":
        """Those of an event."""
        return cls(*(getattr(event, field.name) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Person:
    """One person over a span (contract 3.8).

    ``first_seen`` and ``first_touch`` are the first ever; ``visitor_id`` and ``latest`` are those of
    the last event in the span. ``email`` and ``name`` are traits (`people.traits`). ``revenue``
    sums charges in the scan's currency; ``foreign_money`` tells that others were left out. Of the
    visitor ids the first `MAX_ITEMS_PER_PERSON` by code point are told.
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
    """A page of persons with an event in the span.

    ``search`` is a prefix of e-mail, user id or visitor id, without case; ``sort`` (``last_seen``,
    ``first_seen``, ``revenue``, ``events``) descends, ties by person. ``utm_*`` are those of the
    first touch, ``country`` the latest, each `NOT_SET` where it is absent. ``person`` narrows the answer to one.
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
    """What is known of a person over all time; ``traits`` by the rule of `people.traits`.

    At most `MAX_ITEMS_PER_PERSON` anonymous ids are told, the first by code point; external ids and traits
    are those of the latest as many different ones that were said. External ids are what the person's own
    events say (contract 10.1), also one that somebody else's say too (`Contested`).
    """

    anonymous_ids: tuple[str, ...]
    external_ids: Mapping[str, str]
    traits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConflictingPerson:
    """A person whose events carry an external id: how many do, and the latest of them."""

    person: str
    event_count: int
    event_id: str
    last_event_at: datetime


@dataclass(frozen=True, slots=True)
class ExternalIdConflict:
    """An external id that two persons or more carry and that joins none of them (semantics 5.6).

    Two known persons carry it, or it would lead from one to another together with further ids. Whose an event
    is, and which events count, is as everywhere: those of bots, and those whose links were taken back, do not.

    Attributes:
        users: how many of its persons are known by a user id.
        persons: how many carry it.
        claims: the first `MAX_CONFLICTING_PERSONS` of them by code point, so users come first.
    """

    namespace: str
    id: str
    identified_count: int
    person_count: int
    conflicting_persons: tuple[ConflictingPerson, ...]


@dataclass(frozen=True, slots=True)
class PersonFirstTouch:
    """Who an id belongs to, and the first touch they ever had."""

    user_id: str | None
    first_touch: Touch | None


class PersonReader(Protocol):
    """Persons: connected components of ids, resolved at query time (semantics 5)."""

    async def list_people(self, query: PeoplePageQuery) -> tuple[list[Person], int]:
        """A page of persons and the number of all."""

    async def find_person(self, workspace_id: UUID, any_id: str) -> str | None:
        """The person a user id, visitor id or anonymous id belongs to; None when never seen."""

    async def first_touches(self, workspace_id: UUID, ids: Collection[str]) -> Mapping[str, PersonFirstTouch]:
        """Where the persons of some ids came from, at once; ids that were never seen are left out.

        An id is a user id, else a visitor id: whose the latest event of the visitor is.
        """

    async def external_id_conflicts(
        self, workspace_id: UUID, limit: int
    ) -> tuple[list[ExternalIdConflict], int]:
        """External ids that link nobody because several persons carry them, and the number of all.

        Those of the most users come first, then those that an event carried last, then by namespace.
        """

    async def list_person_events(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Event]:
        """The latest events of a person in the span, oldest first."""

    async def list_person_touches(
        self, scope: QueryScope, person: str, limit: int = MAX_ITEMS_PER_PERSON
    ) -> list[Touch]:
        """The person's latest touches in the span, oldest first."""


@dataclass(frozen=True, slots=True)
class PersonActivityQuery:
    """Who a person is, and what they did in a span. The scan has no filters.

    Attributes:
        person: as `People.resolve` names them.
        window: how long before a conversion a touch counts.
        most: sessions, conversions, and touches of one conversion that are told; the newest are.
    """

    scope: QueryScope
    person: str
    window: timedelta
    max_items: int


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A session as far as the person had it in the span.

    ``first`` is its first event, ``exit_page`` the path of the last page view. ``revenue`` sums charges
    in the scan's currency; ``foreign_money`` tells that others were left out.
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
    """A conversion and the touches that count for it, oldest first; ``cut``: there are older ones."""

    event: Event
    path: tuple[Touch, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class PersonActivity:
    """Answer to a `PersonActivityQuery`; lists are newest first by the order of events.

    Attributes:
        now: the person over the span; None without an event there.
        ever: over all time up to the end of the span; None without an event by then.
        profile: ids and traits of all time (semantics 5.4, 5.6); bots tell none.
        last_touch: the latest up to the end of the span.
    """

    in_range: Person | None
    lifetime: Person | None
    profile: Profile
    last_touch: Touch | None
    sessions: tuple[PersonSession, ...]
    conversions: tuple[ConversionPath, ...]


class PersonActivityReader(Protocol):
    """The history of one person, never more of it than is asked for."""

    async def read_activity(self, query: PersonActivityQuery) -> PersonActivity:
        """All that is told of a person; what converts and what is a repeat is told by all events."""
