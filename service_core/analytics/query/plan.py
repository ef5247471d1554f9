"""Plans a metric query: splits it into one query per source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from service_core.access.models import Caller, Workspace
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.measures import (
    Aggregation,
    ColumnOwner,
    Condition,
    DailyMean,
    Difference,
    FilterOperator,
    Measure,
    Predicate,
    Ratio,
    Relation,
)
from service_core.analytics.ports import AggregateQuery, QueryScope
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compile_filters import (
    MATCHES_NOTHING,
    compile_filters_or_none_if_unmatchable,
    conditions_outside_groups_or_none_if_unmatchable,
)
from service_core.analytics.query.compute import (
    aggregation_of,
    iterate_counts_of_rows_making_sum_unknown,
    list_base_measures,
)
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import UNCONNECTED_REASONS, Source
from service_core.analytics.scope import own_conversions_or_builtin_with_triggers, scope_for_caller
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.bucket_series import buckets_overlapping_or_nearest


@dataclass(slots=True)
class SourceQuery:
    """The part of a metric query that one source evaluates in one query.

    Attributes:
        source: the source.
        dimension_positions: positions of the dimensions that the relations of this part have; all rows are
            absent in the others.
        is_daily_mean: whether it is evaluated day by day.
        use_default_attribution: whether credits follow the default attribution of the workspace.
        use_builtin_conversions: whether conversions follow the built-in conversion set.
        aggregation_by_base: base measure to the aggregation the source evaluates, conditions included.
        filters: conditions that all aggregations share.
        sums_groups: the groups of the rest are read one by one and added up, as their values are additive.
    """

    source: Source
    dimension_positions: tuple[int, ...]
    is_daily_mean: bool
    use_default_attribution: bool
    use_builtin_conversions: bool
    sums_groups: bool = False
    aggregation_by_base: dict[Aggregation | DailyMean, Aggregation] = field(default_factory=dict)
    filters: tuple[Condition, ...] = ()

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations it reads."""
        return frozenset(aggregation.relation for aggregation in self.aggregation_by_base.values())


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A metric query split by source. Base measures in no part are 0, as no row can meet their conditions.

    Attributes:
        source_queries: one per source and set of options.
        is_single_query: one part covers everything, and the event store can sort and limit it.
    """

    source_queries: tuple[SourceQuery, ...]
    is_single_query: bool


def plan_query(
    query: MetricQuery,
    metrics: Sequence[Metric],
    catalog: Catalog,
    source_by_relation: Mapping[Relation, Source],
    workspace: Workspace,
) -> QueryPlan:
    """Returns the plan of a query: base measures grouped by source and by the dimensions of their relation."""
    has_own_conversions = (
        not own_conversions_or_builtin_with_triggers(workspace.rules, workspace.triggers).names
        >= DEFAULT_CONVERSION_SET.names
    )
    conditions: dict[tuple[Relation, bool], tuple[Condition, ...] | None] = {}
    plan: dict[tuple[int, tuple[int, ...], bool, bool, bool, bool], SourceQuery] = {}
    has_unmatchable_filters = False
    for base_measure in _base_measures_and_incompleteness_counts(metrics, workspace.currency):
        aggregation = aggregation_of(base_measure)
        relation = aggregation.relation
        sums_groups = query.groups_left_out is not None and _has_only_sums(aggregation)
        if (relation, sums_groups) not in conditions:
            conditions[relation, sums_groups] = _conditions_or_none_if_unmatchable(
                query, catalog, relation, sums_groups=sums_groups
            )
        if conditions[relation, sums_groups] is MATCHES_NOTHING:
            has_unmatchable_filters = True
            continue
        source = source_by_relation[relation]
        is_whole_rest = query.groups_left_out is not None and not sums_groups
        present = () if is_whole_rest else _positions_of_relation_dimensions(query, catalog, relation)
        options = (
            isinstance(base_measure, DailyMean),
            aggregation.use_default_attribution,
            aggregation.use_builtin_conversions and has_own_conversions,
            sums_groups,
        )
        source_query = plan.setdefault(
            (id(source), present, *options), SourceQuery(source, present, *options)
        )
        source_query.aggregation_by_base[base_measure] = _source_aggregation_of_elapsed_rows(
            base_measure, query.range.now
        )
    for source_query in plan.values():
        _set_shared_filters_or_per_aggregation(source_query, conditions)
    can_sort_in_store = all(
        _can_sort_in_store(source_query, query, catalog) for source_query in plan.values()
    )
    return QueryPlan(
        tuple(plan.values()),
        is_single_query=len(plan) == 1 and can_sort_in_store and not has_unmatchable_filters,
    )


_SUMMED_RELATIONS: Final = frozenset(Relation) - {
    Relation.EVENTS, Relation.SESSIONS, Relation.CONVERSIONS, Relation.PAYMENTS,
}  # fmt: skip
"""Relations whose sources regroup rows themselves, so that they cannot leave out groups of several dimensions."""


def _has_only_sums(aggregation: Aggregation) -> bool:
    return aggregation.relation in _SUMMED_RELATIONS and not aggregation.distinct


def _conditions_or_none_if_unmatchable(
    query: MetricQuery, catalog: Catalog, relation: Relation, *, sums_groups: bool
) -> tuple[Condition, ...] | None:
    """Returns the filters of a query on one relation, and the conditions outside of the groups that are left out."""
    filters = compile_filters_or_none_if_unmatchable(query.filters, catalog.dimensions, relation)
    if filters is MATCHES_NOTHING or query.groups_left_out is None or sums_groups:
        return filters
    outside = conditions_outside_groups_or_none_if_unmatchable(
        query.groups_left_out, [catalog.dimensions[id_] for id_ in query.dimensions], relation
    )
    return MATCHES_NOTHING if outside is MATCHES_NOTHING else (*filters, *outside)


def _can_sort_in_store(source_query: SourceQuery, query: MetricQuery, catalog: Catalog) -> bool:
    """Whether the event store has all columns that its rows are sorted and filtered by."""
    dimension_ids = (*query.dimensions, *(condition.dimension for condition in query.filters))
    columns = (
        catalog.dimensions[id_].columns.get(relation)
        for id_ in dimension_ids
        for relation in source_query.relations
    )
    is_event_store = UNCONNECTED_REASONS.keys().isdisjoint(source_query.relations)
    return (
        is_event_store
        and not source_query.is_daily_mean
        and not any(column is not None and column.owner is ColumnOwner.AD for column in columns)
    )


def _base_measures_and_incompleteness_counts(
    metrics: Iterable[Metric], currency: str
) -> Iterable[Aggregation | DailyMean]:
    for metric in metrics:
        for base_measure in list_base_measures(metric.measure):
            yield base_measure
            yield from (
                rows
                for rows, _ in iterate_counts_of_rows_making_sum_unknown(
                    aggregation_of(base_measure), currency
                )
            )


def _source_aggregation_of_elapsed_rows(base_measure: Aggregation | DailyMean, now: datetime) -> Aggregation:
    """Returns the aggregation that a source evaluates.

    It has no trailing days of daily means and no conditions for gaps; elapsed days are a condition on the time of rows.
    """
    if isinstance(base_measure, DailyMean):
        return replace(base_measure.aggregation, trailing_days=None)
    evaluated = replace(base_measure, unknown_if=(), unknown_reason=UnavailableReason.INSUFFICIENT_DATA)
    if evaluated.elapsed_days is None:
        return evaluated
    elapsed = Predicate("timestamp", FilterOperator.LTE, now - timedelta(days=evaluated.elapsed_days))
    return replace(evaluated, elapsed_days=None).with_conditions(elapsed)


def _positions_of_relation_dimensions(
    query: MetricQuery, catalog: Catalog, relation: Relation
) -> tuple[int, ...]:
    return tuple(
        position
        for position, id_ in enumerate(query.dimensions)
        if relation in catalog.dimensions[id_].columns
    )


def _set_shared_filters_or_per_aggregation(
    source_query: SourceQuery,
    conditions_by_relation: Mapping[tuple[Relation, bool], tuple[Condition, ...] | None],
) -> None:
    """Sets the filters on the whole query if all aggregations share them, otherwise on each aggregation."""
    used = {
        conditions_by_relation[aggregation.relation, source_query.sums_groups]
        for aggregation in source_query.aggregation_by_base.values()
    }
    if len(used) == 1:
        source_query.filters = used.pop() or ()
        return
    source_query.aggregation_by_base = {
        base_measure: aggregation.with_conditions(
            *conditions_by_relation[aggregation.relation, source_query.sums_groups] or ()
        )
        for base_measure, aggregation in source_query.aggregation_by_base.items()
    }


def aggregate_query_without_order_and_limit(
    source_query: SourceQuery, query: MetricQuery, catalog: Catalog, caller: Caller
) -> AggregateQuery:
    """Returns the query to the source, without order and limit, and without buckets that cannot hold events."""
    columns = [
        catalog.dimensions[query.dimensions[position]].columns
        for position in source_query.dimension_positions
    ]
    return AggregateQuery(
        scope=_build_scope_with_filters_and_conversions(source_query, query, caller),
        measures=tuple(dict.fromkeys(source_query.aggregation_by_base.values())),
        dimensions=tuple(
            {str(relation): by_relation[relation] for relation in source_query.relations}
            for by_relation in columns
        ),
        buckets=query.buckets
        and buckets_overlapping_or_nearest(query.buckets, EARLIEST_EVENT_TIME, caller.now),
        credit=query.default_credit_rule if source_query.use_default_attribution else query.credit_rule,
    )


def _build_scope_with_filters_and_conversions(
    source_query: SourceQuery, query: MetricQuery, caller: Caller
) -> QueryScope:
    scope = scope_for_caller(
        caller,
        query.range.span,
        filters=source_query.filters,
        include_bots=query.include_bots,
        book_refunds_at_order=query.book_refunds_at_order,
    )
    return (
        replace(scope, conversions=DEFAULT_CONVERSION_SET) if source_query.use_builtin_conversions else scope
    )


def replace_base_measures(
    measure: Measure, aggregation_by_base: Mapping[Aggregation | DailyMean, Aggregation]
) -> Measure:
    """Returns the measure composed of the aggregations the source evaluates, for sorting there."""
    if isinstance(measure, Ratio):
        return replace(
            measure,
            numerator=replace_base_measures(measure.numerator, aggregation_by_base),
            denominator=replace_base_measures(measure.denominator, aggregation_by_base),
        )
    if isinstance(measure, Difference):
        return Difference(
            replace_base_measures(measure.minuend, aggregation_by_base),
            replace_base_measures(measure.subtrahend, aggregation_by_base),
        )
    return aggregation_by_base[measure]
