"""Ports of the event store for reads, as immutable queries.

One adapter implements these protocols; they are separate so that a handler depends only on what it reads.
Every query has a `QueryScope`: workspace, span, filters and bots. Adapters translate queries and decide
nothing about meaning. Results are plain Python values with aware UTC datetimes. A read that exceeds its
time limit raises `QueryTimeout`, and the work inside the engine is cancelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, Protocol
from uuid import UUID

from service_core.access.analytics_settings import FeeRate
from service_core.analytics.measures import Aggregation, Column, Condition, Measure
from service_core.ingestion.models import Event
from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.time_ranges import Buckets, TimeRange


class QueryTimeout(ServiceUnavailable):
    """The read exceeded its limit of 20 seconds and was cancelled."""

    def __init__(self) -> None:
        super().__init__(
            "The read exceeded its time budget", "query_timeout", hint="Ask for a shorter range."
        )


class StoreUnavailable(ServiceUnavailable):
    """The store cannot be read or written: the value is unknown, never zero.

    Args:
        action: what failed, ``read`` or ``written``.
    """

    def __init__(self, action: Literal["read", "written"] = "read") -> None:
        super().__init__(f"The data cannot be {action} at the moment", "data_unverified")


@dataclass(frozen=True, slots=True)
class ConversionSet:
    """Definition of a conversion and of money (`is_revenue_event`).

    Attributes:
        names: event names that convert.
        any_revenue: any event with money above 0 converts, too; then ``custom_revenue`` is set.
        revenue_names: event names that the workspace lists as revenue events; their charges are orders.
        custom_revenue: the amounts of custom event names are money.
    """

    names: frozenset[str]
    any_revenue: bool = True
    revenue_names: frozenset[str] = frozenset()
    custom_revenue: bool = True


@dataclass(frozen=True, slots=True)
class QueryScope:
    """Scope of a query: workspace, span, filters and bots.

    ``zone`` is used for trailing days only; buckets are instants. ``filters`` apply to every row of a relation
    in an `AggregateQuery`, to the event of step 1 in a funnel, to the chosen node in `PathsQuery`, to credits in
    `JourneysQuery`, and to every event that an `EventReader` or `PersonReader` reads (columns of the event; for an
    `EventReader` and in a funnel also those of its session); cohorts, touches and touch paths have none (cohorts:
    `CohortReaderQuery.acquisition_filters`). They never change what is first, new, a repeat or a touch, or the
    person of an event. ``rates`` convert money of other currencies into ``currency``, row by row; None if there is
    no such money or no rate. ``fee_rates`` give the fee of charges whose
    provider does not report it (`reported_fee_or_by_rate`).
    """

    workspace_id: UUID
    span: TimeRange
    currency: str
    zone: str
    conversions: ConversionSet
    filters: tuple[Condition, ...] = ()
    include_bots: bool = False
    order_refunds: bool = False
    rates: ExchangeRates | None = None
    fee_rates: tuple[FeeRate, ...] = ()


class Weighting(StrEnum):
    """How a rule-based model distributes one conversion over its touches."""

    FIRST = "first"
    LAST = "last"
    LINEAR = "even"
    POSITION_BASED = "ends"
    TIME_DECAY = "decay"


@dataclass(frozen=True, slots=True)
class CreditRule:
    """A rule-based attribution: weighting, treatment of direct touches, and window.

    Attributes:
        weighting: how touches share a conversion.
        window: time before the conversion in which a touch counts.
        ignore_direct: ignores direct touches unless all are direct.
        half_life: half-life of `Weighting.TIME_DECAY`.
        endpoint_share: share of the first and of the last touch with `Weighting.POSITION_BASED`.
        book_at_touch: books credit at the time of the touch instead of the conversion.
        event_names: restricts the conversions; None for all.
        data_driven_model_id: a model that splits these credits (`query.attribution_credits`); stores never
            receive it.
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
    """One sort key: ``by`` is ``bucket``, a dimension by position ``d0``.., or a measure ``m0``..

    Text sorts by code point. An absent dimension value sorts as the text ``null_label``. If that is None, and
    for a measure without a value, it sorts last in either direction.
    """

    by: str
    descending: bool = True
    null_label: str | None = None


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """Measures by dimensions and buckets. All aggregations read relations of one source.

    Attributes:
        scope: what is read.
        measures: aggregations, or composites of aggregations; composites are for sorting only.
        dimensions: columns to group by, as in `Relation`; one mapping from relation to column per dimension.
        buckets: the series; None for the whole span.
        order: leading sort keys; `AggregateResult` defines what follows them.
        limit: maximum number of rows; None for all.
        offset: number of rows to skip.
        credit: credit rule for `Relation.CREDITS`.
    """

    scope: QueryScope
    measures: tuple[Measure, ...]
    dimensions: tuple[Mapping[str, Column], ...] = ()
    buckets: Buckets | None = None
    order: tuple[ColumnSort, ...] = ()
    limit: int | None = None
    offset: int = 0
    credit: CreditRule | None = None


@dataclass(frozen=True, slots=True)
class AggregateResult:
    """Result of an `AggregateQuery`.

    Attributes:
        rows: ``(bucket start, if bucketed; dimension values; values of the aggregations, in the order of
            `aggregations`)``. Counts and sums are int (``duration`` float), never None. Without dimensions and
            buckets there is exactly one row. Otherwise there is a row where at least one aggregation has met a
            row of its relation; empty buckets have none. Ties are ordered by bucket, then by dimension values.
            Text is ordered by code point; an absent value is last in either direction.
        aggregations: the different aggregations of the measures, in order of first appearance.
        total_rows: number of rows before ``offset`` and ``limit``.
        totals: per aggregation, the sum over all rows before ``offset`` and ``limit``.
    """

    rows: list[tuple[Any, ...]]
    aggregations: tuple[Aggregation, ...]
    total_rows: int
    totals: tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class ColumnValueCount:
    """A value of a column, as text and None where absent, and the number of persons or sessions with it."""

    value: str | None
    count: int


class AggregateReader(Protocol):
    """Totals, series and breakdowns."""

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns measures by dimensions and buckets."""


@dataclass(frozen=True, slots=True)
class EventPageQuery:
    """A query for a page of events, newest first (timestamp, then seq). ``count_total`` also counts all matches."""

    scope: QueryScope
    limit: int
    offset: int = 0
    count_total: bool = True
    after: tuple[datetime, int] | None = None


@dataclass(frozen=True, slots=True)
class EventPageResult:
    """Result of an `EventPageQuery`; ``total`` is None unless it was requested."""

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
    """One custom property of one event name over a span.

    ``count`` counts the events with the key, ``distinct_count`` its different values that are not null;
    ``sample`` is the latest of these. ``type`` is `json_type_name` of all of them, ``mixed`` if they differ,
    ``null`` without any.
    """

    event_name: str
    key: str
    count: int
    distinct_count: int
    sample: Any
    type: str


@dataclass(frozen=True, slots=True)
class ActiveVisitor:
    """A visitor of the last minutes: the latest event, and totals.

    ``revenue`` is in the currency of the scope; None if the visitor also paid in another one.
    """

    latest_event: Event
    pageviews: int
    events: int
    revenue: int | None
    first_seen: datetime
    last_seen: datetime


class EventReader(Protocol):
    """Events and their names."""

    async def list_events(self, query: EventPageQuery) -> EventPageResult:
        """Returns a page of events."""

    async def list_event_names(self, scope: QueryScope) -> list[EventNameSummary]:
        """Returns the event names in the span, most frequent first, ties by name."""

    async def list_custom_properties_by_event(
        self, scope: QueryScope, limit_per_event_name: int
    ) -> list[CustomPropertySummary]:
        """Returns custom top-level ``event_data`` keys, at most ``limit`` per event name.

        Ordered by event name, then count descending, then key.
        """

    async def list_visitors_with_recently_received_events(
        self, scope: QueryScope, received_since: datetime, limit: int
    ) -> list[ActiveVisitor]:
        """Returns visitors with an event in the span that was received since an instant, newest ``last_seen`` first.

        Only such events count for the totals of a visitor; ties are ordered by visitor id.
        """

    async def first_and_last_event_time(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Returns the timestamps of the first and last event of the workspace; None without any."""


@dataclass(frozen=True, slots=True)
class TouchPathQuery:
    """A query for paths of touch keys, for data-driven models.

    ``key_columns`` are columns of `Touch` (`touch_column`).
    """

    scope: QueryScope
    window: timedelta
    key_columns: tuple[Column, ...]
    event_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class TouchPath:
    """One sequence of keys (consecutive repeats collapsed), how often it converted or did not, and its money.

    Attributes:
        keys: the keys in order.
        converted: number of conversions with this path.
        unconverted: number of persons with this path and no conversion.
        amount: sum of the charges with this path, in minor units of the scope's currency. Charges of another
            currency without a rate are left out.
        refunded: sum of the refunds whose order has this path, likewise.
        orders: number of orders with this path.
    """

    keys: tuple[tuple[str | None, ...], ...]
    converted: int
    unconverted: int
    amount: int = 0
    refunded: int = 0
    orders: int = 0


class TouchPathReader(Protocol):
    """Aggregated touch paths."""

    async def list_distinct_touch_paths_with_counts(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Returns every different path with its counts and money; what has no touch in the window is omitted.

        Charges and refunds count on the day they are booked, as in `Relation.CREDITS`. A charge that is no
        conversion has a path, too.
        """
