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

from service_core.analytics.measures import Aggregation, Measure, Predicate
from service_core.ingestion.models import Event
from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.time_ranges import Buckets, TimeRange


class QueryTimeout(ServiceUnavailable):
    """The read missed its budget of 20 seconds and was cancelled (contract 4.3)."""

    def __init__(self) -> None:
        super().__init__(
            "The read exceeded its time budget", "query_timeout", hint="Ask for a shorter range."
        )


class StoreUnavailable(ServiceUnavailable):
    """The store cannot be read: the answer is unknown, never zero."""

    def __init__(self) -> None:
        super().__init__("The data cannot be read at the moment", "data_unverified")


@dataclass(frozen=True, slots=True)
class ConversionSet:
    """What converts (semantics 10.1): event names, and any event with revenue above 0."""

    names: frozenset[str]
    any_revenue: bool = True


@dataclass(frozen=True, slots=True)
class QueryScope:
    """What a plan looks at. ``zone`` serves trailing days only; buckets come with their instants.

    ``filters`` are met by every row of a relation in an `Aggregate`, by the event of step 1 in a
    funnel, and by every event an `EventReader` or `People` read looks at (columns of the event itself);
    cohorts, touches and paths take none. They never change what is first, new, a repeat, a touch,
    or whose an event is. ``rates`` turn money of other currencies into ``currency``, each row for itself;
    None where there is no such money, or nobody to tell its worth.
    """

    workspace_id: UUID
    span: TimeRange
    currency: str
    zone: str
    conversions: ConversionSet
    filters: tuple[Predicate, ...] = ()
    include_bots: bool = False
    order_refunds: bool = False
    rates: ExchangeRates | None = None


class Weighting(StrEnum):
    """How a rule-based model spreads one conversion over its touches (semantics 9)."""

    FIRST = "first"
    LAST = "last"
    LINEAR = "even"
    POSITION_BASED = "ends"
    TIME_DECAY = "decay"


@dataclass(frozen=True, slots=True)
class CreditRule:
    """A rule-based attribution: weighting, what happens to direct touches, and the window.

    ``drop_direct`` leaves direct touches out unless all are direct. ``by_touch`` books credit at
    the touch's instant, else at the conversion's. ``event_names`` narrows the conversions.
    ``fitted`` names a data-driven model whose credits share out these (`query.fitted`); a store is
    never asked with one.
    """

    weighting: Weighting
    window: timedelta
    ignore_direct: bool = False
    half_life: timedelta = timedelta(days=7)
    endpoint_share: float = 0.4
    book_at_touch: bool = False
    event_names: frozenset[str] | None = None
    data_driven_model_id: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnSort:
    """One sort key: ``by`` is ``bucket``, a dimension column position ``d0``.., or a measure ``m0``..

    Text sorts by code point. An absent dimension value sorts as the text ``absent``, its label; with
    None, and for a measure without a value, it sorts last in either direction.
    """

    by: str
    descending: bool = True
    null_label: str | None = None


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """Measures by dimensions and bucket. All leaves of one plan read relations of this store.

    Attributes:
        measures: leaves or composites of leaves; composites serve ordering only.
        dimensions: columns to group by, as in `Relation`; one mapping per relation used.
        order: leading keys; `Grid` says what follows them.
    """

    scope: QueryScope
    measures: tuple[Measure, ...]
    dimensions: tuple[Mapping[str, str], ...] = ()
    buckets: Buckets | None = None
    order: tuple[ColumnSort, ...] = ()
    limit: int | None = None
    offset: int = 0
    credit: CreditRule | None = None


@dataclass(frozen=True, slots=True)
class AggregateResult:
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
    aggregations: tuple[Aggregation, ...]
    total_rows: int
    totals: tuple[int | float, ...]


class AggregateReader(Protocol):
    """Totals, series and breakdowns."""

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluate measures by dimensions and buckets."""


@dataclass(frozen=True, slots=True)
class EventPageQuery:
    """A page of raw events, newest first (timestamp, then seq). ``total``: count all matches too."""

    scope: QueryScope
    limit: int
    offset: int = 0
    count_total: bool = True
    after: tuple[datetime, int] | None = None


@dataclass(frozen=True, slots=True)
class EventPageResult:
    """Answer to an `EventPageQuery`: ``total`` is None when it was not asked for."""

    events: list[Event]
    total: int | None
    has_more: bool


@dataclass(frozen=True, slots=True)
class EventNameSummary:
    """One event name in a span."""

    name: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class CustomPropertySummary:
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
class ActiveVisitor:
    """A visitor of the last minutes: its latest event, and totals.

    ``revenue`` is in the scan's currency; None when the visitor paid in another one, too.
    """

    latest_event: Event
    pageviews: int
    events: int
    revenue: int | None
    first_seen: datetime
    last_seen: datetime


class EventReader(Protocol):
    """Rows and names of events."""

    async def list_events(self, query: EventPageQuery) -> EventPageResult:
        """Raw event rows."""

    async def list_event_names(self, scope: QueryScope) -> list[EventNameSummary]:
        """Event names in the span, most frequent first, ties by name."""

    async def list_custom_properties(self, scope: QueryScope, limit: int) -> list[CustomPropertySummary]:
        """Custom top-level ``event_data`` keys (`custom_keys`), at most ``limit`` of an event name.

        In order of event name, then count descending, then key.
        """

    async def list_active_visitors(
        self, scope: QueryScope, received_since: datetime, limit: int
    ) -> list[ActiveVisitor]:
        """Visitors with an event timed in the span and received since, newest ``last_seen`` first.

        Only such events count in what is said of a visitor; ties by visitor id.
        """

    async def event_time_range(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Timestamps of the first and last event of the workspace; None without any."""


@dataclass(frozen=True, slots=True)
class TouchPathQuery:
    """Paths of touch keys for data-driven models (semantics 9).

    ``key`` names columns of `Touch`, such as ``("utm_source|attribution_source", "utm_campaign")``.
    """

    scope: QueryScope
    window: timedelta
    key_columns: tuple[str, ...]
    event_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class TouchPath:
    """One sequence of keys (repeats in a row collapsed) and how often it converted or did not."""

    keys: tuple[tuple[str | None, ...], ...]
    converted: int
    unconverted: int


class TouchPathReader(Protocol):
    """Touch paths, aggregated."""

    async def list_touch_paths(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Every different path with its counts; conversions without a touch are left out."""
