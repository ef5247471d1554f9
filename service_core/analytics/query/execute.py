"""Executes a metric query: queries the sources, combines rows by dimensions, computes, sorts and pages.

If one source has all aggregations, it sorts and limits inside its engine. Otherwise complete results are
combined here. Both ways compute a value from the same aggregations, so the value is the same.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

from service_core.access.models import Caller
from service_core.analytics.measures import Aggregation, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, ColumnSort, StoreUnavailable
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.combine import RowAccumulator
from service_core.analytics.query.compute import (
    BaseMeasure,
    MeasureFunction,
    compile_measure_zero_where_absent,
)
from service_core.analytics.query.models import BUCKET, MetricQuery, QueryResult, ResultRow
from service_core.analytics.query.ordering import sort_rows_unknown_last
from service_core.analytics.query.plan import (
    QueryPlan,
    SourceQuery,
    aggregate_query_without_order_and_limit,
    plan_query,
    replace_base_measures,
)
from service_core.analytics.query.sources import Source, SourceUnavailable
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Number, Unavailable, UnavailableReason
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import Buckets, BucketUnit, TimeRange


@dataclass
class QueryExecution:
    """Execution of one metric query.

    Attributes:
        catalog: metrics and dimensions.
        sources: the source of each relation.
        caller: the caller, whose workspace is read.
        query: the query.
        unavailable_reasons: the metrics that are not measured, with the reason.
    """

    catalog: Catalog
    sources: Mapping[Relation, Source]
    caller: Caller
    query: MetricQuery
    unavailable_reasons: Mapping[str, UnavailableReason]

    @property
    def _metrics(self) -> list[Metric]:
        return [self.catalog.metrics[id_] for id_ in self.query.metrics]

    @property
    def _measured_metrics(self) -> list[Metric]:
        return [metric for metric in self._metrics if metric.id not in self.unavailable_reasons]

    async def execute(self) -> QueryResult:
        """Returns the result of the query."""
        plan = plan_query(
            self.query,
            self._measured_metrics,
            self.catalog,
            self.sources,
            self.caller.workspace,
        )
        return (
            await self._execute_sorted_and_limited_in_store(plan.source_queries[0])
            if self._can_run_as_one_store_query(plan)
            else await self._combine_sources_and_page_in_python(plan)
        )

    def _can_run_as_one_store_query(self, plan: QueryPlan) -> bool:
        has_labels = any(self.catalog.dimensions[d].labels for d in self.query.dimensions)
        needs_empty_buckets = self.query.buckets is not None and not self.query.dimensions
        rules = (self.query.credit_rule, self.query.default_credit_rule)
        is_data_driven = any(
            credit is not None and credit.data_driven_model_id is not None for credit in rules
        )
        is_rest = self.query.groups_left_out is not None
        return plan.is_single_query and not (has_labels or needs_empty_buckets or is_data_driven or is_rest)

    async def _execute_sorted_and_limited_in_store(self, source_query: SourceQuery) -> QueryResult:
        query = self.query
        plan = aggregate_query_without_order_and_limit(source_query, query, self.catalog, self.caller)
        composed = tuple(
            replace_base_measures(metric.measure, source_query.aggregation_by_base)
            for metric in self._measured_metrics
        )
        remaining = tuple(aggregation for aggregation in plan.measures if aggregation not in composed)
        result = await _aggregate_or_raise_source_unavailable(
            source_query,
            replace(
                plan,
                measures=(*composed, *remaining),
                order=self._column_sorts_of_available_fields(source_query),
                limit=query.limit,
                offset=query.offset,
            ),
        )
        accumulator = RowAccumulator([source_query])
        self._add_result_rows(
            accumulator, source_query, result, has_bucket_column=self.query.buckets is not None
        )
        totals = dict(zip(result.aggregations, result.totals, strict=True))
        added = {
            base_measure: totals[aggregation]
            for base_measure, aggregation in source_query.aggregation_by_base.items()
        }
        return QueryResult(
            tuple(self._compute_rows(accumulator)),
            result.total_rows,
            self._totals_of_plain_aggregations(added),
        )

    def _column_sorts_of_available_fields(self, source_query: SourceQuery) -> tuple[ColumnSort, ...]:
        dimensions = [self.query.dimensions[position] for position in source_query.dimension_positions]
        names = {BUCKET: BUCKET}
        names |= {metric.id: f"m{i}" for i, metric in enumerate(self._measured_metrics)}
        names |= {id_: f"d{i}" for i, id_ in enumerate(dimensions)}
        absent = {id_: self.catalog.dimensions[id_].null_label for id_ in dimensions}
        return tuple(
            ColumnSort(names[key.field], key.descending, absent.get(key.field))
            for key in self.query.order
            if key.field in names
        )

    async def _combine_sources_and_page_in_python(self, plan: QueryPlan) -> QueryResult:
        accumulator = RowAccumulator(plan.source_queries)
        await gather_or_cancel(
            *(
                self._aggregate_source_into(source_query, accumulator)
                for source_query in plan.source_queries
                if not source_query.is_daily_mean
            )
        )
        self._add_zero_rows_unless_dimensions(accumulator)
        await gather_or_cancel(
            *(
                self._add_means_over_full_days(source_query, accumulator)
                for source_query in plan.source_queries
                if source_query.is_daily_mean
            )
        )
        rows = sort_rows_unknown_last(self._compute_rows(accumulator), self.query)
        end = None if self.query.limit is None else self.query.offset + self.query.limit
        return QueryResult(
            tuple(rows[self.query.offset : end]),
            len(rows),
            self._totals_of_plain_aggregations(accumulator.totals_by_base_measure()),
        )

    def _add_zero_rows_unless_dimensions(self, accumulator: RowAccumulator) -> None:
        """Adds a row for every bucket, or one row for the total, if there are no dimensions or there is one group."""
        if self.query.dimensions and self.query.groups_left_out is None:
            return
        for start in self.query.buckets.starts if self.query.buckets else (None,):
            accumulator.get_or_add_zero_row((start, self.query.other_labels))

    async def _aggregate_source_into(self, source_query: SourceQuery, accumulator: RowAccumulator) -> None:
        self._add_result_rows(
            accumulator,
            source_query,
            await _aggregate_or_raise_source_unavailable(
                source_query,
                aggregate_query_without_order_and_limit(source_query, self.query, self.catalog, self.caller),
            ),
            has_bucket_column=self.query.buckets is not None,
        )

    async def _add_means_over_full_days(self, source_query: SourceQuery, accumulator: RowAccumulator) -> None:
        """Adds means over the full local days of the range, or of each bucket (stickiness)."""
        days = _full_elapsed_local_days(self.query)
        if not days.starts:
            return
        span = TimeRange(days.starts[0], days.end)
        daily = replace(self.query, range=replace(self.query.range, span=span), buckets=days)
        by_day = RowAccumulator([source_query])
        self._add_result_rows(
            by_day,
            source_query,
            await _aggregate_or_raise_source_unavailable(
                source_query,
                aggregate_query_without_order_and_limit(source_query, daily, self.catalog, self.caller),
            ),
            has_bucket_column=True,
        )
        positions = [accumulator.positions[base_measure] for base_measure in source_query.aggregation_by_base]
        days_of = Counter(_find_bucket_start(start, self.query.buckets) for start in days.starts)
        for (day, labels), values in by_day.rows.items():
            bucket = _find_bucket_start(day or span.start, self.query.buckets)
            accumulator.add(
                (bucket, labels), positions, [Fraction(value or 0, days_of[bucket]) for value in values]
            )
        for (bucket, _), row in accumulator.rows.items():
            for position in positions:
                row[position] = row[position] or (0 if days_of[bucket] else None)

    def _add_result_rows(
        self,
        accumulator: RowAccumulator,
        source_query: SourceQuery,
        result: AggregateResult,
        *,
        has_bucket_column: bool,
    ) -> None:
        width = has_bucket_column + len(source_query.dimension_positions)
        positions = [accumulator.positions[base_measure] for base_measure in source_query.aggregation_by_base]
        column_of = {aggregation: width + index for index, aggregation in enumerate(result.aggregations)}
        columns = [column_of[aggregation] for aggregation in source_query.aggregation_by_base.values()]
        for row in result.rows:
            labels = self._labels_of(source_query, row[has_bucket_column:width])
            if self.query.groups_left_out is not None:
                if source_query.sums_groups and labels in self.query.groups_left_out:
                    continue
                labels = self.query.other_labels
            key = (row[0] if has_bucket_column else None, labels)
            accumulator.add(key, positions, [row[column] for column in columns])

    def _labels_of(self, source_query: SourceQuery, values: Sequence[Any]) -> tuple[str, ...]:
        by_position = dict(zip(source_query.dimension_positions, values, strict=True))
        dimensions = (self.catalog.dimensions[id_] for id_ in self.query.dimensions)
        return tuple(d.label_of(by_position.get(i)) for i, d in enumerate(dimensions))

    def _compute_rows(self, accumulator: RowAccumulator) -> Iterator[ResultRow]:
        readers = [self._compile_metric(metric, accumulator) for metric in self._metrics]
        for (bucket, labels), values in accumulator.rows.items():
            yield ResultRow(bucket, labels, tuple([read(values) for read in readers]))

    def _compile_metric(self, metric: Metric, accumulator: RowAccumulator) -> MeasureFunction:
        if metric.id in self.unavailable_reasons:
            unavailable = Unavailable(self.unavailable_reasons[metric.id])
            return lambda _: unavailable
        return compile_measure_zero_where_absent(
            metric.measure, accumulator.positions, self.caller.workspace.currency
        )

    def _totals_of_plain_aggregations(
        self, sum_by_base_measure: Mapping[BaseMeasure, float | Fraction]
    ) -> tuple[Number | None, ...]:
        return tuple(
            _to_exact_number(sum_by_base_measure.get(metric.measure, 0))
            if isinstance(metric.measure, Aggregation)
            else None
            for metric in self._metrics
        )


async def _aggregate_or_raise_source_unavailable(
    source_query: SourceQuery, query: AggregateQuery
) -> AggregateResult:
    """Returns the result of one query to a source.

    Raises:
        SourceUnavailable: the source cannot be read.
    """
    try:
        return await source_query.source.aggregate(query)
    except StoreUnavailable as fault:
        raise SourceUnavailable(source_query.source.relations) from fault


def _to_exact_number(value: float | Fraction) -> Number:
    return Fraction(value) if isinstance(value, float) else value


def _full_elapsed_local_days(query: MetricQuery) -> Buckets:
    """Returns the local days that lie completely in the range and have passed."""
    date_range = query.range
    days = buckets_covering(date_range.span, BucketUnit.DAY, date_range.zone)
    last = min(date_range.span.end, date_range.now)
    full = [(s, e) for s, e in pairwise((*days.starts, days.end)) if s >= date_range.span.start and e <= last]
    return Buckets(BucketUnit.DAY, tuple(start for start, _ in full), full[-1][1] if full else days.end)


def _find_bucket_start(start: datetime, buckets: Buckets | None) -> datetime | None:
    return buckets.starts[bisect_right(buckets.starts, start) - 1] if buckets else None
