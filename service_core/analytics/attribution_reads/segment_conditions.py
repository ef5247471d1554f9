"""Applies the filters of a segment to `GET /attribution`: to sessions as visits have them, to credits as touches do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel
from service_core.analytics.measures import Aggregation, Condition, FilterOperator, Predicate, Relation
from service_core.analytics.ports import AggregateQuery, AggregateReader, AggregateResult
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.compile_filters import (
    MATCHES_NOTHING,
    compile_filters_or_none_if_unmatchable,
)
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter
from service_core.kernel.errors import BadRequest

ConditionsByRelation: TypeAlias = Mapping[Relation, tuple[Condition, ...]]

_METRICS: Final = ("visitors", "sessions", "attributed_conversions", "attributed_revenue")
"""The metrics whose dimensions a segment may name: those that a row of attribution holds."""

_MATCHES_NO_ROW: Final = (Predicate("event_name", FilterOperator.IN, ()),)


async def read_segment_conditions_by_relation(
    caller: Caller, segment_id: UUID | None, model: AttributionModel, queries: MetricQueries
) -> ConditionsByRelation:
    """Returns the conditions of a segment on sessions and on credits; nothing without an id.

    Args:
        caller: the caller, whose segments are read.
        segment_id: the id of the segment; None for none.
        model: the model of the request.
        queries: reads segments.

    Raises:
        BadRequest: ``unknown_segment``; ``incompatible_dimension`` for a dimension that touches do not have;
            ``invalid_parameter`` for a data-driven model.
    """
    filters = await queries.read_segment_filters(caller, segment_id, _METRICS)
    if filters and isinstance(model, DataDrivenModel):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: it takes no segment",
            "invalid_parameter",
            field="segment_id",
            hint="Choose a rule-based model.",
        )
    return compile_event_and_credit_conditions(filters, queries.catalog)


def compile_event_and_credit_conditions(
    filters: Sequence[DimensionFilter], catalog: Catalog
) -> ConditionsByRelation:
    """Returns the conditions of filters on events and on credits; those of a relation without such rows match nothing."""
    return {
        relation: _MATCHES_NO_ROW if conditions is MATCHES_NOTHING else conditions
        for relation in (Relation.EVENTS, Relation.CREDITS)
        for conditions in (compile_filters_or_none_if_unmatchable(filters, catalog.dimensions, relation),)
    }


@dataclass(frozen=True, slots=True)
class SegmentAggregateReader:
    """An `AggregateReader` that counts the rows of a segment only.

    Attributes:
        reader: the reader of all rows.
        conditions: the conditions of the segment on each relation.
    """

    reader: AggregateReader
    conditions: ConditionsByRelation

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns measures over the rows of the segment; the measures of the query are aggregations."""
        own = {
            measure.with_conditions(*self.conditions.get(measure.relation, ())): measure
            for measure in query.measures
            if isinstance(measure, Aggregation)
        }
        result = await self.reader.aggregate(replace(query, measures=tuple(own)))
        return replace(result, aggregations=tuple(own[each] for each in result.aggregations))
