"""Executes metric queries for all endpoints, so that a metric has the same value everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.attribution.resolve_model import InsufficientData
from service_core.analytics.measures import Predicate, Relation
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import compile_measure_zero_where_absent
from service_core.analytics.query.execute import QueryExecution
from service_core.analytics.query.models import DimensionFilter, MetricQuery, QueryResult
from service_core.analytics.query.property_scope import require_read_scope_for_properties
from service_core.analytics.query.segments import (
    NoSegments,
    SegmentReader,
    compile_conditions_on_single_events,
    read_segment_filters_accepted_by_metrics,
)
from service_core.analytics.query.snapshot import SourceSnapshot, list_aggregations
from service_core.analytics.query.sources import Source
from service_core.analytics.query.unmeasured_platforms import (
    NoUnmeasuredPlatforms,
    UnmeasuredPlatformReader,
    list_platforms_with_touches_but_no_spend,
)
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measurement, Unavailable, UnavailableReason


@dataclass(frozen=True)
class MetricQueries:
    """Executes metric queries.

    A request reads one `SourceSnapshot` and passes it to all its queries.

    Attributes:
        catalog: metrics and dimensions, those of plugins included.
        sources: the sources that evaluate them.
        segments: the saved segments that requests name.
        unmeasured_platforms: finds paid traffic of platforms whose spend is unknown.
    """

    catalog: Catalog
    sources: tuple[Source, ...]
    segments: SegmentReader = field(default_factory=NoSegments)
    unmeasured_platforms: UnmeasuredPlatformReader = field(default_factory=NoUnmeasuredPlatforms)
    _by_relation: dict[Relation, Source] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.sources:
            self._by_relation.update(dict.fromkeys(source.relations, source))

    async def read_source_states_once(
        self, caller: Caller, metric_ids: Sequence[str], earlier_snapshot: SourceSnapshot | None = None
    ) -> SourceSnapshot:
        """Returns the states of the sources of the metrics, each read once.

        Args:
            caller: the caller, whose workspace is read.
            metric_ids: ids of the catalog.
            earlier_snapshot: an earlier snapshot of the same request; its states are kept and not read again.
        """
        states = dict(earlier_snapshot.states) if earlier_snapshot else {}
        missing = [relation for relation in self._relations_with_source(metric_ids) if relation not in states]
        sources = {id(source): source for source in map(self._by_relation.__getitem__, missing)}
        read = await gather_or_cancel(
            *(source.read_state(caller.workspace, caller.now) for source in sources.values())
        )
        for source, state in zip(sources.values(), read, strict=True):
            states |= dict.fromkeys(source.relations, state)
        return SourceSnapshot(self.catalog, states, caller.now)

    async def execute_marking_unfit_credits_unavailable(
        self, caller: Caller, query: MetricQuery, snapshot: SourceSnapshot
    ) -> QueryResult:
        """Returns the result of a query.

        Raises:
            Forbidden: ``insufficient_scope``, for a custom property and a caller who reads totals only.
            QueryTimeout: a source exceeded its time limit.
            SourceUnavailable: a source cannot be read.
            ValueError: the snapshot was read for other metrics.
        """
        require_read_scope_for_properties(
            caller, (*query.dimensions, *(condition.dimension for condition in query.filters))
        )
        if not snapshot.states.keys() >= self._relations_with_source(query.metrics):
            raise ValueError(f"the snapshot lacks sources of {', '.join(query.metrics)}")
        if query.buckets is not None and not query.buckets.starts:
            return QueryResult((), 0, tuple(0 for _ in query.metrics))
        reasons = snapshot.unavailable_reasons(query.metrics, query.grouped_and_single_value_dimensions)
        try:
            return await QueryExecution(self.catalog, self._by_relation, caller, query, reasons).execute()
        except InsufficientData:
            without_credits = dict.fromkeys(
                (id_ for id_ in query.metrics if self._is_credited(id_)), UnavailableReason.INSUFFICIENT_DATA
            )
            reasons = without_credits | reasons
            return await QueryExecution(self.catalog, self._by_relation, caller, query, reasons).execute()

    async def list_platforms_with_touches_but_no_spend(
        self, caller: Caller, query: MetricQuery, snapshot: SourceSnapshot
    ) -> tuple[str, ...]:
        """Returns the ad platforms that sent paid visits and whose spend a query lacks; none if it compares no spend."""
        return await list_platforms_with_touches_but_no_spend(
            self.unmeasured_platforms, caller, query, snapshot
        )

    async def read_segment_filters(
        self, caller: Caller, segment_id: UUID | None, metric_ids: Sequence[str]
    ) -> tuple[DimensionFilter, ...]:
        """Returns the filters of the segment that a request names; nothing without an id.

        Raises:
            BadRequest: ``unknown_segment``, or ``incompatible_dimension`` for a metric that does not accept a filter.
            Forbidden: ``insufficient_scope``, for a custom property and a caller who reads totals only.
        """
        filters = await read_segment_filters_accepted_by_metrics(
            self.segments, self.catalog, caller, segment_id, metric_ids
        )
        require_read_scope_for_properties(caller, (condition.dimension for condition in filters))
        return filters

    async def read_segment_event_conditions(
        self, caller: Caller, segment_id: UUID | None
    ) -> tuple[Predicate, ...]:
        """Returns the conditions of the events of the segment that a request names; nothing without an id.

        Raises:
            BadRequest: ``unknown_segment``, or ``incompatible_dimension`` for a filter that events do not have.
        """
        return compile_conditions_on_single_events(
            self.catalog, await self.read_segment_filters(caller, segment_id, ())
        )

    def values_of_row_without_data(
        self, query: MetricQuery, snapshot: SourceSnapshot
    ) -> tuple[Measurement, ...]:
        """Returns the values of a row without data."""
        reasons = snapshot.unavailable_reasons(query.metrics, query.grouped_and_single_value_dimensions)
        return tuple(
            Unavailable(reasons[metric.id])
            if metric.id in reasons
            else compile_measure_zero_where_absent(metric.measure, {}, "")(())
            for metric in self.metrics_by_id(query.metrics)
        )

    def source_of_relation_or_none(self, relation: Relation) -> Source | None:
        """Returns the source of a relation; None if there is none."""
        return self._by_relation.get(relation)

    def metrics_by_id(self, ids: Sequence[str]) -> tuple[Metric, ...]:
        """Returns the metrics with these ids, which are validated before."""
        return tuple(self.catalog.metrics[id_] for id_ in ids)

    def _is_credited(self, metric_id: str) -> bool:
        return any(
            aggregation.relation is Relation.CREDITS
            for aggregation in list_aggregations(self.catalog, metric_id)
        )

    def _relations_with_source(self, metric_ids: Sequence[str]) -> set[Relation]:
        """Returns the relations of the metrics that have a source."""
        return {
            aggregation.relation
            for id_ in metric_ids
            for aggregation in list_aggregations(self.catalog, id_)
            if aggregation.relation in self._by_relation
        }
