"""Availability and freshness of the sources, read once per request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.analytics.freshness import may_overlap_gap_hour
from service_core.analytics.measures import Aggregation, Operand, Relation
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.compute import aggregation_of, list_base_measures
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import UNCONNECTED_REASONS, SourceState
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.time_ranges import ResolvedRange

NO_FIXED_DIMENSIONS: Final[Mapping[str, Operand]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """States of the sources of some metrics, read once for a request.

    All values of one answer follow from the same snapshot, so that an answer never mixes moments.
    ``fixed_dimensions`` in the methods are dimensions with one value in each row; see
    `MetricQuery.fixed_dimensions`.

    Attributes:
        catalog: metrics and dimensions.
        states: the state of the source of each relation.
        now: time of the request.
    """

    catalog: Catalog
    states: Mapping[Relation, SourceState]
    now: datetime

    def unavailable_reasons(
        self, metric_ids: Sequence[str], fixed_dimensions: Mapping[str, Operand] = NO_FIXED_DIMENSIONS
    ) -> dict[str, UnavailableReason]:
        """Returns the metrics that are not measured for the workspace, with the reason."""
        states = self._states_of_metric_relations(metric_ids, fixed_dimensions)
        reasons: dict[str, UnavailableReason] = {}
        for id_ in metric_ids:
            for aggregation in list_aggregations(self.catalog, id_):
                reason = _unmeasured_or_mixed_platforms_reason(aggregation, states, fixed_dimensions)
                if reason is not None:
                    reasons.setdefault(id_, reason)
        return reasons

    def complete_through(self, query: MetricQuery) -> datetime:
        """Returns the time up to which the data of every measured source of a query is complete."""
        return self._earliest_completeness_or_now(
            self._states_of_metric_relations(query.metrics, query.grouped_and_single_value_dimensions)
        )

    def is_complete_without_failed_source(
        self,
        date_range: ResolvedRange,
        metric_ids: Sequence[str],
        fixed_dimensions: Mapping[str, Operand] = NO_FIXED_DIMENSIONS,
    ) -> bool:
        """Whether no source of the metrics has failed, and each is complete over the range, up to now, without a gap."""
        states = self._states_of_metric_relations(metric_ids, fixed_dimensions)
        if any(
            state.unavailable_reasons.get(relation) is UnavailableReason.SOURCE_ERROR
            for relation, state in states.items()
        ):
            return False
        if any(may_overlap_gap_hour(state.gap_hours, date_range.span) for state in states.values()):
            return False
        return min(date_range.span.end, self.now) <= self._earliest_completeness_or_now(states)

    def _states_of_metric_relations(
        self, metric_ids: Sequence[str], fixed_dimensions: Mapping[str, Operand]
    ) -> dict[Relation, SourceState]:
        relations = {
            aggregation.relation for id_ in metric_ids for aggregation in list_aggregations(self.catalog, id_)
        }
        return {
            relation: state.for_dimensions(fixed_dimensions)
            for relation, state in self.states.items()
            if relation in relations
        }

    def _earliest_completeness_or_now(self, states: Mapping[Relation, SourceState]) -> datetime:
        measured = (
            state.complete_through(relation)
            for relation, state in states.items()
            if relation not in state.unavailable_reasons
        )
        return min(measured, default=self.now)


def list_aggregations(catalog: Catalog, metric_id: str) -> Iterator[Aggregation]:
    """Yields the aggregations that a metric is computed from."""
    return map(aggregation_of, list_base_measures(catalog.metrics[metric_id].measure))


def _unmeasured_or_mixed_platforms_reason(
    aggregation: Aggregation,
    states: Mapping[Relation, SourceState],
    fixed_dimensions: Mapping[str, Operand],
) -> UnavailableReason | None:
    relation, dimension = aggregation.relation, aggregation.non_additive_dimension
    if relation not in states:
        return UNCONNECTED_REASONS.get(relation, UnavailableReason.SOURCE_ERROR)
    state = states[relation]
    is_mixed = dimension in state.multi_valued_dimensions and dimension not in fixed_dimensions
    return state.unavailable_reasons.get(relation) or (
        UnavailableReason.MULTIPLE_PLATFORMS if is_mixed else None
    )
