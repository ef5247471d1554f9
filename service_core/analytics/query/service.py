"""The one door to metric values: `/overview`, `/metrics`, `/query` and all others ask here.

So one metric has one value everywhere (semantics 1.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.attribution.resolve_model import InsufficientData
from service_core.analytics.measures import Aggregation, Operand, Relation
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import aggregation_of, compile_measure, list_base_measures
from service_core.analytics.query.execute import QueryExecution
from service_core.analytics.query.models import MetricQuery, QueryResult
from service_core.analytics.query.sources import UNCONNECTED_REASONS, Source, SourceState
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measurement, Unavailable, UnavailableReason
from service_core.kernel.time_ranges import ResolvedRange

_NO_FIXED_DIMENSIONS: Final[Mapping[str, Operand]] = MappingProxyType({})


@dataclass(frozen=True)
class MetricQueries:
    """Everything that can be asked about metrics, whoever asks.

    Attributes:
        catalog: metrics and dimensions, plugins' included.
        sources: what evaluates them.
    """

    catalog: Catalog
    sources: tuple[Source, ...]
    _by_relation: dict[Relation, Source] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.sources:
            self._by_relation.update(dict.fromkeys(source.relations, source))

    async def execute(self, caller: Caller, query: MetricQuery) -> QueryResult:
        """Answer a question.

        Raises:
            QueryTimeout: a source missed its budget.
            SourceUnavailable: a source cannot be read.
        """
        if query.buckets is not None and not query.buckets.starts:
            return QueryResult((), 0, tuple(0 for _ in query.metrics))
        reasons = await self.unavailable_reasons(caller, query.metrics, query.fixed_dimensions)
        try:
            return await QueryExecution(self.catalog, self._by_relation, caller, query, reasons).execute()
        except InsufficientData:
            credited = dict.fromkeys(
                self._metrics_with_credits(query.metrics), UnavailableReason.INSUFFICIENT_DATA
            )
            return await QueryExecution(
                self.catalog, self._by_relation, caller, query, credited | reasons
            ).execute()

    def source_for(self, relation: Relation) -> Source | None:
        """What answers for a relation, for whoever asks for more than metrics; None when nothing does."""
        return self._by_relation.get(relation)

    def _metrics_with_credits(self, ids: Sequence[str]) -> Iterator[str]:
        for id_ in ids:
            if any(
                aggregation_of(atom).relation is Relation.CREDITS
                for atom in list_base_measures(self.catalog.metrics[id_].measure)
            ):
                yield id_

    def metrics_by_id(self, ids: Sequence[str]) -> tuple[Metric, ...]:
        """The metrics with these ids, which are checked."""
        return tuple(self.catalog.metrics[id_] for id_ in ids)

    async def empty_row_values(self, caller: Caller, query: MetricQuery) -> tuple[Measurement, ...]:
        """The readings of a row no fact was found for."""
        reasons = await self.unavailable_reasons(caller, query.metrics, query.fixed_dimensions)
        return tuple(
            Unavailable(reasons[metric.id])
            if metric.id in reasons
            else compile_measure(metric.measure, {}, "")(())
            for metric in self.metrics_by_id(query.metrics)
        )

    async def unavailable_reasons(
        self, caller: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NO_FIXED_DIMENSIONS
    ) -> dict[str, UnavailableReason]:
        """The metrics that are not measured for the caller's workspace, each with its reason.

        Args:
            who: whose workspace.
            metrics: ids of the catalog.
            held: dimensions of which each row asked for is of one value; see `Question.held`.
        """
        states = await self.source_states(caller, metrics, held)
        found: dict[str, UnavailableReason] = {}
        for id_ in metrics:
            for atom in list_base_measures(self.catalog.metrics[id_].measure):
                reason = _find_unavailable_reason(aggregation_of(atom), states, held)
                if reason is not None:
                    found.setdefault(id_, reason)
        return found

    async def source_states(
        self, caller: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NO_FIXED_DIMENSIONS
    ) -> dict[Relation, SourceState]:
        """State of the source of each relation the metrics involve, as far as rows of the values held go."""
        relations = {
            aggregation_of(a).relation
            for id_ in metrics
            for a in list_base_measures(self.catalog.metrics[id_].measure)
        }
        sources = {r: source for r in relations if (source := self._by_relation.get(r)) is not None}
        involved = {id(source): source for source in sources.values()}
        found = await gather_or_cancel(
            *(s.read_state(caller.workspace, caller.now) for s in involved.values())
        )
        states = {id_: state.for_dimensions(held) for id_, state in zip(involved, found, strict=True)}
        return {relation: states[id(source)] for relation, source in sources.items()}

    async def complete_through(
        self, caller: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NO_FIXED_DIMENSIONS
    ) -> datetime:
        """Up to when the data of every measured source is present (semantics 19.2)."""
        return _compute_complete_through(caller, await self.source_states(caller, metrics, held))

    async def is_complete(
        self,
        caller: Caller,
        date_range: ResolvedRange,
        metrics: Sequence[str],
        held: Mapping[str, Operand] = _NO_FIXED_DIMENSIONS,
    ) -> bool:
        """Whether every source behind the metrics answered, and was read over the whole range, up to now."""
        states = await self.source_states(caller, metrics, held)
        if any(
            state.unavailable_reasons.get(of) is UnavailableReason.SOURCE_ERROR
            for of, state in states.items()
        ):
            return False
        return min(date_range.span.end, caller.now) <= _compute_complete_through(caller, states)


def _find_unavailable_reason(
    aggregation: Aggregation, states: Mapping[Relation, SourceState], held: Mapping[str, Operand]
) -> UnavailableReason | None:
    if aggregation.relation not in states:
        return UNCONNECTED_REASONS.get(aggregation.relation, UnavailableReason.SOURCE_ERROR)
    state = states[aggregation.relation]
    is_mixed = (
        aggregation.non_additive_dimension in state.multi_valued_dimensions
        and aggregation.non_additive_dimension not in held
    )
    return state.unavailable_reasons.get(aggregation.relation) or (
        UnavailableReason.MULTIPLE_PLATFORMS if is_mixed else None
    )


def _compute_complete_through(caller: Caller, states: Mapping[Relation, SourceState]) -> datetime:
    measured = (
        state.complete_through(of) for of, state in states.items() if of not in state.unavailable_reasons
    )
    return min(measured, default=caller.now)
