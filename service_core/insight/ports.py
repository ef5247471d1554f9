"""Read side of the event store: the questions a store answers, as immutable plans.

One adapter implements all of these protocols; they are apart so that a handler depends only on
what it asks. Every plan carries a `Scan`: which workspace, which span, bots or not. Adapters
translate plans; they decide nothing about meaning. Results are plain Python values with aware UTC
datetimes. A read past its budget raises `QueryTimeout`; the work inside the engine is cancelled.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.insight.measures import Leaf, Measure, Predicate
from service_core.intake.model import Event
from service_core.kernel.errors import Unavailable503
from service_core.kernel.ranges import Buckets, Span


class QueryTimeout(Unavailable503):
    """The read missed its budget of 20 seconds and was cancelled (contract 4.3)."""

    def __init__(self) -> None:
        super().__init__(
            "The read exceeded its time budget", "query_timeout", hint="Ask for a shorter range."
        )


class StoreUnavailable(Unavailable503):
    """The store cannot be read: the answer is unknown, never zero."""

    def __init__(self) -> None:
        super().__init__("The data cannot be read at the moment", "data_unverified")


@dataclass(frozen=True, slots=True)
class ConversionSet:
    """What converts (semantics 10.1): event names, and any event with revenue above 0."""

    names: frozenset[str]
    any_revenue: bool = True


@dataclass(frozen=True, slots=True)
class Scan:
    """What a plan looks at. ``zone`` serves trailing days only; buckets come with their instants.

    ``filters`` are met by every row of a relation in an `Aggregate`, by the event of step 1 in a
    funnel, and by every event an `EventLog` or `People` read looks at (columns of the event itself);
    cohorts, touches and paths take none. They never change what is first, new, a repeat, a touch,
    or whose an event is.
    """

    workspace_id: UUID
    span: Span
    currency: str
    zone: str
    conversions: ConversionSet
    filters: tuple[Predicate, ...] = ()
    include_bots: bool = False
    order_refunds: bool = False


class Weighting(StrEnum):
    """How a rule-based model spreads one conversion over its touches (semantics 9)."""

    FIRST = "first"
    LAST = "last"
    EVEN = "even"
    ENDS = "ends"
    DECAY = "decay"


@dataclass(frozen=True, slots=True)
class Credit:
    """A rule-based attribution: weighting, what happens to direct touches, and the window.

    ``drop_direct`` leaves direct touches out unless all are direct. ``by_touch`` books credit at
    the touch's instant, else at the conversion's. ``event_names`` narrows the conversions.
    ``fitted`` names a data-driven model whose credits share out these (`query.fitted`); a store is
    never asked with one.
    """

    weighting: Weighting
    window: timedelta
    drop_direct: bool = False
    half_life: timedelta = timedelta(days=7)
    ends_share: float = 0.4
    by_touch: bool = False
    event_names: frozenset[str] | None = None
    fitted: str | None = None


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort key: ``by`` is ``bucket``, a dimension column position ``d0``.., or a measure ``m0``..

    Text sorts by code point. An absent dimension value sorts as the text ``absent``, its label; with
    None, and for a measure without a value, it sorts last in either direction.
    """

    by: str
    descending: bool = True
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Measures by dimensions and bucket. All leaves of one plan read relations of this store.

    Attributes:
        measures: leaves or composites of leaves; composites serve ordering only.
        dimensions: columns to group by, as in `Relation`; one mapping per relation used.
        order: leading keys; `Grid` says what follows them.
    """

    scan: Scan
    measures: tuple[Measure, ...]
    dimensions: tuple[Mapping[str, str], ...] = ()
    buckets: Buckets | None = None
    order: tuple[Sort, ...] = ()
    limit: int | None = None
    offset: int = 0
    credit: Credit | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Answer to an `Aggregate`.

    Attributes:
        rows: ``(bucket start, if bucketed; dimension values; values of the leaves, in the order of
            `leaves`)``. Counts and sums are int (``duration`` float), never None; without
            dimensions and buckets there is exactly one row. Otherwise a row stands where at least
            one leaf has met a row of its relation; empty buckets have none. What the order leaves
            open is by bucket, then by dimension values. Text is ordered by code point; an absent
            value comes last in either direction.
        leaves: the different leaves of the plan's measures, in order of first appearance.
        groups: number of rows before ``offset`` and ``limit``.
        sums: per leaf, the sum over all rows before ``offset`` and ``limit``.
    """

    rows: list[tuple[Any, ...]]
    leaves: tuple[Leaf, ...]
    groups: int
    sums: tuple[int | float, ...]


class Aggregates(Protocol):
    """Totals, series and breakdowns."""

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures by dimensions and buckets."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of raw events, newest first (timestamp, then seq). ``total``: count all matches too."""

    scan: Scan
    limit: int
    offset: int = 0
    total: bool = True
    after: tuple[datetime, int] | None = None


@dataclass(frozen=True, slots=True)
class Events:
    """Answer to an `EventPage`: ``total`` is None when it was not asked for."""

    events: list[Event]
    total: int | None
    has_more: bool


@dataclass(frozen=True, slots=True)
class EventName:
    """One event name in a span."""

    name: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class PropertyKey:
    """One custom key of one event name: facts over the span (contract 3.6).

    ``count`` counts the events that have the key, ``distinct_count`` its different values that are
    not null; ``sample`` is the latest of these. ``type`` is `custom_keys.json_type` of all of them,
    ``mixed`` when they differ, ``null`` without any.
    """

    event_name: str
    key: str
    count: int
    distinct_count: int
    sample: Any
    type: str


@dataclass(frozen=True, slots=True)
class LiveVisitor:
    """A visitor of the last minutes: its latest event, and totals.

    ``revenue`` is in the scan's currency; None when the visitor paid in another one, too.
    """

    latest: Event
    pageviews: int
    events: int
    revenue: int | None
    first_seen: datetime
    last_seen: datetime


class EventLog(Protocol):
    """Rows and names of events."""

    async def page(self, plan: EventPage) -> Events:
        """Raw event rows."""

    async def names(self, scan: Scan) -> list[EventName]:
        """Event names in the span, most frequent first, ties by name."""

    async def properties(self, scan: Scan, limit: int) -> list[PropertyKey]:
        """Custom top-level ``event_data`` keys (`custom_keys`), at most ``limit`` of an event name.

        In order of event name, then count descending, then key.
        """

    async def live(self, scan: Scan, received_since: datetime, limit: int) -> list[LiveVisitor]:
        """Visitors with an event timed in the span and received since, newest ``last_seen`` first.

        Only such events count in what is said of a visitor; ties by visitor id.
        """

    async def bounds(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Timestamps of the first and last event of the workspace; None without any."""


@dataclass(frozen=True, slots=True)
class Person:
    """One person over a span (contract 3.8).

    ``first_seen`` and ``first_touch`` are the first ever; device and place are those of ``latest``,
    the last event in the span. ``email`` and ``name`` are traits (`people.traits`). ``revenue``
    sums charges in the scan's currency; ``foreign_money`` tells that others were left out. Of the
    visitor ids the first `MOST_OF_A_PERSON` by code point are told.
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
    first_touch: "Touch | None"
    latest: Event
    foreign_money: bool = False


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
class PeoplePage:
    """A page of persons with an event in the span.

    ``search`` is a prefix of e-mail, user id or visitor id, without case; ``sort`` (``last_seen``,
    ``first_seen``, ``revenue``, ``events``) descends, ties by person. ``utm_*`` are those of the
    first touch, ``country`` the latest. ``person`` narrows the answer to one.
    """

    scan: Scan
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

    At most `MOST_OF_A_PERSON` anonymous ids are told, the first by code point; external ids and traits
    are those of the latest as many different ones that were said.
    """

    anonymous_ids: tuple[str, ...]
    external_ids: Mapping[str, str]
    traits: Mapping[str, Any]


MOST_OF_A_PERSON: Final = 1000
"""Events, touches and ids that are told of one person at once; a shared id may have millions."""


class People(Protocol):
    """Persons: connected components of ids, resolved at query time (semantics 5)."""

    async def people(self, plan: PeoplePage) -> tuple[list[Person], int]:
        """A page of persons and the number of all."""

    async def resolve(self, workspace_id: UUID, any_id: str) -> str | None:
        """The person a user id, visitor id or anonymous id belongs to; None when never seen."""

    async def profile(self, workspace_id: UUID, person: str) -> Profile:
        """Ids and traits of a person (semantics 5.4, 5.6)."""

    async def history(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Event]:
        """The latest events of a person in the span, oldest first."""

    async def touches(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Touch]:
        """The person's latest touches in the span, oldest first."""


@dataclass(frozen=True, slots=True)
class PathPlan:
    """Paths of touch keys for data-driven models (semantics 9).

    ``key`` names columns of `Touch`, such as ``("utm_source|attribution_source", "utm_campaign")``.
    """

    scan: Scan
    window: timedelta
    key: tuple[str, ...]
    event_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """One sequence of keys (repeats in a row collapsed) and how often it converted or did not."""

    keys: tuple[tuple[str | None, ...], ...]
    converted: int
    unconverted: int


class Paths(Protocol):
    """Touch paths, aggregated."""

    async def paths(self, plan: PathPlan) -> Sequence[Path]:
        """Every different path with its counts; conversions without a touch are left out."""


class Columnar(Protocol):
    """A table that offers itself as an Arrow stream; any data-frame library reads it without copying."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The PyCapsule of the stream."""


Batch = Mapping[str, Sequence[Any]] | Columnar
"""Some rows, column by column: lists of plain values, or an Arrow table of the same columns."""


class Streams(Protocol):
    """Rows too many for a page, batch by batch, in order, from one state of the store.

    A stream has no time budget; closing the iterator stops the work inside the engine.
    """

    def event_batches(self, scan: Scan, limit: int) -> AsyncGenerator[Batch, None]:
        """Event rows, newest first (timestamp, then seq), at most ``limit``.

        Columns are those of the wire, in their order: timestamps aware or naive UTC, ``revenue`` in
        minor units, collections (``external_ids``, ``bot_reasons``, ``event_data``) as JSON text.
        """

    def person_batches(self, plan: PeoplePage) -> AsyncGenerator[Sequence[Person], None]:
        """The persons of a page of any length."""
