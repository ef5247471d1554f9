"""The comparison of `POST /query`: the groups of the page, the groups that vanished or shrank, and the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.catalog import Additivity
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import BUCKET, DimensionFilter, MetricQuery, QueryResult, ResultRow
from service_core.analytics.query.ordering import order_by_time_then_first_metric
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.analytics.reads.query.response import (
    QueryComparison,
    ResponseRenderer,
    without_dimensions_and_buckets,
)
from service_core.analytics.reads.query.top_groups import TopGroups, query_rows_of_groups_filling_empty
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.bucket_dates import format_local_date_of_bucket
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import UnavailableMetric
from service_core.kernel.time_ranges import ResolvedRange

CURRENT: Final = "current"
"""Field of a comparison row of a group that is not on the page: its values in the range of the query."""

_ALIGNED_BUCKET: Final = "aligned_bucket"


@dataclass(frozen=True, slots=True)
class FurtherGroups:
    """Groups that were largest in the compared range and are not on the page.

    Attributes:
        rows: their rows in the compared range, the largest group first.
        current_rows: their rows in the range of the query.
    """

    rows: tuple[ResultRow, ...] = ()
    current_rows: tuple[ResultRow, ...] = ()


class ComparedPage(NamedTuple):
    """The comparison of a page, and the metrics that are unavailable in it."""

    comparison: QueryComparison
    unavailable: list[UnavailableMetric]


@dataclass(frozen=True, slots=True)
class QueryComparer:
    """Compares a page of a query with another range.

    Attributes:
        renderer: renders the rows of the query.
        compared_range: the range to compare with.
        groups: the groups that `top` keeps; None for a page of rows.
        further_groups_limit: the maximum number of groups that are not on the page.
    """

    caller: Caller
    queries: MetricQueries
    snapshot: SourceSnapshot
    renderer: ResponseRenderer
    compared_range: ResolvedRange
    groups: TopGroups | None
    further_groups_limit: int

    async def compare_page(self, page: QueryResult, *, compact: bool) -> ComparedPage:
        """Returns the comparison of the groups of a page with the other range.

        Args:
            compact: return rows as arrays.
        """
        totals, compared, further = await gather_or_cancel(
            self._execute(without_dimensions_and_buckets(self._compared_query)),
            self._read_compared_rows_of_page_groups(page),
            self._read_largest_groups_not_on_page(page),
        )
        page_rows = self._compared_row_per_page_row(page, compared)
        rows = [self._render_row(row, aligned) for row, aligned in page_rows]
        rows += self._render_further_rows_with_current_values(further)
        shown = (*(row for row, _ in page_rows), *further.rows)
        other = await self._values_of_groups_without_row(totals.rows[0], rows, shown)
        comparison = QueryComparison(
            range=RangeResponse.from_range(self.compared_range),
            columns=self._columns(),
            rows=[list(row.values()) for row in rows] if compact else rows,
            other=other,
            totals=self._compared_renderer.metric_values(totals.rows[0]),
        )
        unavailable = list_unavailable_with_reasons(
            self._query.metrics, totals.rows[0].values, *(row.values for row in shown)
        )
        return ComparedPage(comparison, unavailable)

    @property
    def _query(self) -> MetricQuery:
        return self.renderer.query

    @property
    def _compared_query(self) -> MetricQuery:
        """The query over the compared range, without order and limit."""
        query = replace(self._query, range=self.compared_range, order=(), limit=None, offset=0)
        if query.buckets is None:
            return query
        unit, zone = query.buckets.unit, self.compared_range.zone
        return replace(query, buckets=buckets_covering(self.compared_range.span, unit, zone))

    @property
    def _compared_renderer(self) -> ResponseRenderer:
        return replace(self.renderer, query=self._compared_query)

    async def _execute(self, query: MetricQuery) -> QueryResult:
        return await self.queries.execute_marking_unfit_credits_unavailable(self.caller, query, self.snapshot)

    async def _read_compared_rows_of_page_groups(self, page: QueryResult) -> Sequence[ResultRow]:
        """Returns the rows that the groups of the page have in the compared range."""
        query = self._compared_query
        if self.groups is not None:
            return await query_rows_of_groups_filling_empty(
                self.caller, self.queries, query, self.snapshot, self.groups
            )
        labels = {row.labels for row in page.rows}
        return (await self._execute(filter_by_labels_of_groups(query, labels))).rows if labels else ()

    async def _read_largest_groups_not_on_page(self, page: QueryResult) -> FurtherGroups:
        """Returns the largest groups of the compared range that are not on the page."""
        on_page = {row.labels for row in page.rows}
        limit = self._further_groups_limit_divided_by_buckets()
        if not limit or not self._query.dimensions:
            return FurtherGroups()
        by_size = order_by_time_then_first_metric(self._query.metrics, self._query.dimensions, bucketed=False)
        ranked = await self._execute(
            replace(self._compared_query, buckets=None, order=by_size, limit=limit + len(on_page))
        )
        largest = [row for row in ranked.rows if row.labels not in on_page][:limit]
        labels = {row.labels for row in largest}
        if not labels:
            return FurtherGroups()
        current_query = filter_by_labels_of_groups(
            replace(self._query, order=(), limit=None, offset=0), labels
        )
        if self._query.buckets is None:
            current = await self._execute(current_query)
            return FurtherGroups(tuple(largest), current.rows)
        compared, current = await gather_or_cancel(
            self._execute(filter_by_labels_of_groups(self._compared_query, labels)),
            self._execute(current_query),
        )
        by_bucket = sorted(
            (row for row in compared.rows if row.labels in labels), key=lambda row: (row.bucket, row.labels)
        )
        return FurtherGroups(tuple(by_bucket), current.rows)

    def _further_groups_limit_divided_by_buckets(self) -> int:
        """Returns how many further groups are read; with buckets so few that their rows are about as many."""
        if self.groups is not None and self.groups.has_other:
            return 0
        if self._query.buckets is None or not self.further_groups_limit:
            return self.further_groups_limit
        return max(1, self.further_groups_limit // len(self._query.buckets.starts))

    def _compared_row_per_page_row(
        self, page: QueryResult, compared: Iterable[ResultRow]
    ) -> list[tuple[ResultRow, datetime | None]]:
        """Returns the compared row of each row of the page, and the bucket of the page. Buckets match by position."""
        by_key = {(row.bucket, row.labels): row for row in compared}
        empty_values = self.queries.values_of_row_without_data(self._query, self.snapshot)
        aligned: list[tuple[ResultRow, datetime | None]] = []
        for row in page.rows:
            bucket = bucket_at_same_position(row.bucket, self._query, self._compared_query)
            if row.bucket is None or bucket is not None:
                found = by_key.get((bucket, row.labels)) or ResultRow(bucket, row.labels, empty_values)
                aligned.append((found, row.bucket))
        return aligned

    def _render_row(self, row: ResultRow, aligned: datetime | None) -> dict[str, Any]:
        labels = dict(zip(self._query.dimensions, row.labels, strict=True))
        values: dict[str, Any] = labels | self.renderer.metric_values(row)
        if row.bucket is None or self._query.buckets is None:
            return values
        date = format_local_date_of_bucket(row.bucket, self._query.buckets.unit, self.compared_range.zone)
        return {BUCKET: row.bucket, "date": date, _ALIGNED_BUCKET: aligned} | values

    def _render_further_rows_with_current_values(self, further: FurtherGroups) -> list[dict[str, Any]]:
        current = {(row.bucket, row.labels): row for row in further.current_rows}
        records = []
        for row in further.rows:
            aligned = bucket_at_same_position(row.bucket, self._compared_query, self._query)
            now = current.get((aligned, row.labels))
            record = self._render_row(row, aligned)
            records.append(record | {CURRENT: None if now is None else self.renderer.metric_values(now)})
        return records

    def _columns(self) -> list[str]:
        bucket = (BUCKET, "date", _ALIGNED_BUCKET) if self._query.buckets else ()
        return [*bucket, *self._query.dimensions, *self._query.metrics, CURRENT]

    async def _values_of_groups_without_row(
        self, totals: ResultRow, records: Sequence[dict[str, Any]], shown: Iterable[ResultRow]
    ) -> dict[str, float | int | None] | None:
        """Returns the values of all groups without a row; None without dimensions, those of no data when a row is the rest.

        Additive metrics are the rest of their rounded total, so that the rounded numbers add up. Other metrics are queried.
        """
        if not self._query.dimensions:
            return None
        if self.groups is not None and self.groups.has_other:
            empty = self.queries.values_of_row_without_data(self._query, self.snapshot)
            return self.renderer.metric_values(ResultRow(None, (), empty))
        total = self.renderer.metric_values(totals)
        metrics = {metric.id: metric for metric in self.renderer.metrics}
        other = {
            id_: _subtract_exactly_or_none_if_unknown(total[id_], (record[id_] for record in records))
            for id_, metric in metrics.items()
            if metric.additivity is Additivity.ADDITIVE
        }
        if self._query.buckets is not None or len(other) == len(metrics):
            return other
        rest = await self._execute(
            replace(self._compared_query, groups_left_out=frozenset(row.labels for row in shown))
        )
        queried = self.renderer.metric_values(rest.rows[0]) if rest.rows else dict.fromkeys(metrics)
        return {id_: other[id_] if id_ in other else queried[id_] for id_ in metrics}


def filter_by_labels_of_groups(query: MetricQuery, groups: Iterable[tuple[str, ...]]) -> MetricQuery:
    """Returns the query with a filter on the labels of each dimension; rows of other combinations may remain."""
    labels = (tuple(sorted(set(of_dimension))) for of_dimension in zip(*groups, strict=True))
    narrowed = (
        DimensionFilter(id_, FilterOperator.IN, values)
        for id_, values in zip(query.dimensions, labels, strict=False)
    )
    return replace(query, filters=(*query.filters, *narrowed))


def bucket_at_same_position(
    bucket: datetime | None, query: MetricQuery, other_query: MetricQuery
) -> datetime | None:
    """Returns the bucket of the other query at the position of a bucket; None if it has fewer buckets."""
    if bucket is None or query.buckets is None or other_query.buckets is None:
        return None
    position = query.buckets.starts.index(bucket)
    return other_query.buckets.starts[position] if position < len(other_query.buckets.starts) else None


def _subtract_exactly_or_none_if_unknown(
    total: float | None, parts: Iterable[float | None]
) -> float | int | None:
    """Returns a total minus its parts, exact in decimals; None if one of them is unknown."""
    numbers = [total, *parts]
    known = [Decimal(str(number)) for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    rest = known[0] - sum(known[1:])
    return int(rest) if all(isinstance(number, int) for number in numbers) else float(rest)
