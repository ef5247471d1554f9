"""Read side of the event store: the questions a store answers, as immutable plans.

One adapter implements all of these protocols; they are apart so that a handler depends only on
what it asks. Every plan carries a `Scan`: which workspace, which span, bots or not. Adapters
translate plans; they decide nothing about meaning. Results are plain Python values with aware UTC
datetimes. A read past its budget raises `QueryTimeout`; the work inside the engine is cancelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from service_core.insight.measures import Leaf, Measure, Predicate
from service_core.intake.model import Event
from service_core.kernel.errors import Unavailable503
from service_core.kernel.ranges import Buckets, Span
from service_core.kernel.rates import Rates


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
    or whose an event is. ``rates`` turn money of other currencies into ``currency``, each row for itself;
    None where there is no such money, or nobody to tell its worth.
    """

    workspace_id: UUID
    span: Span
    currency: str
    zone: str
    conversions: ConversionSet
    filters: tuple[Predicate, ...] = ()
    include_bots: bool = False
    order_refunds: bool = False
    rates: Rates | None = None


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
