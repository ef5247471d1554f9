"""The answer of `POST /query`: columns, rows, totals, comparison and metadata."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import BUCKET, DimensionFilter, MetricQuery, QueryResult, ResultRow
from service_core.analytics.query.result_values import to_json_numbers
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.reads.did_you_mean import ValueSuggestion
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.analytics.reads.query.top_groups import TopBody, TopGroups, read_rows_of_groups
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange


class OrderByBody(BodyModel):
    """One sort key."""

    field: str = Field(description="A metric, a dimension or `bucket`.")
    direction: Literal["asc", "desc"] = "desc"


class ResultColumn(ResponseModel):
    """A column of the answer."""

    id: str
    kind: Literal["bucket", "dimension", "metric"]


class MetricColumn(ResultColumn):
    """A column of metric values."""

    unit: MetricUnit


class ResolvedQuery(ResponseModel):
    """The executed query with all defaults."""

    date_range: RangeResponse
    timezone: str
    interval: Literal["hour", "day", "week", "month", "quarter"] | None
    attribution: AttributionSettings | None
    refund_basis: RefundBasis
    currency: str
    order_by: list[OrderByBody]
    limit: int


class ResolvedTopQuery(ResolvedQuery):
    """The executed query with the groups it keeps."""

    top: TopBody


class QueryMeta(ResponseModel):
    """Metadata: the executed query, what is missing, and the next page."""

    resolved: ResolvedTopQuery | ResolvedQuery
    unavailable: list[UnavailableMetric]
    truncated: bool = Field(description="Rows stop at `limit`; go on with `next_cursor`.")
    next_cursor: str | None
    row_count: int
    complete: bool
    data_through: datetime
    did_you_mean: list[ValueSuggestion]
    query_ms: int


class QueryComparison(ResponseModel):
    """The comparison range: rows with the dimension values of this page, and totals."""

    range: RangeResponse
    rows: list[dict[str, Any]]
    totals: Annotated[dict[str, float | int | None], LISTED_BY_OPERATION]


_ROWS_SCHEMA: Final = {
    "type": "array",
    "items": {"anyOf": [{"type": "object", "additionalProperties": True}, {"type": "array", "items": {}}]},
}
"""All rows are of one form; generators of typed clients cannot tell two kinds of arrays apart, but two kinds of rows."""


class QueryResponse(ResponseModel):
    """Rows by dimensions and buckets, and totals over the whole range."""

    columns: list[MetricColumn | ResultColumn]
    rows: Annotated[list[dict[str, Any]] | list[list[Any]], WithJsonSchema(_ROWS_SCHEMA)]
    totals: Annotated[dict[str, float | int | None], LISTED_BY_OPERATION]
    comparison: QueryComparison | None
    meta: QueryMeta


@dataclass(frozen=True, slots=True)
class ResponseRenderer:
    """Renders result rows of a query as JSON values."""

    query: MetricQuery
    metrics: tuple[Metric, ...]
    currency: str

    def result_columns(self) -> list[MetricColumn | ResultColumn]:
        """Returns the columns in order: bucket, dimensions, metrics."""
        bucket = [ResultColumn(id=BUCKET, kind="bucket")] if self.query.buckets else []
        dimensions = [ResultColumn(id=id_, kind="dimension") for id_ in self.query.dimensions]
        metrics = [MetricColumn(id=metric.id, kind="metric", unit=metric.unit) for metric in self.metrics]
        return [*bucket, *dimensions, *metrics]

    def rows_as_objects(self, rows: Iterable[ResultRow]) -> list[dict[str, Any]]:
        """Returns rows as objects with the columns in order."""
        return [
            ({BUCKET: row.bucket} if row.bucket else {})
            | dict(zip(self.query.dimensions, row.labels, strict=True))
            | self.metric_values(row)
            for row in rows
        ]

    def rows_as_arrays(self, rows: Iterable[ResultRow]) -> list[list[Any]]:
        """Returns rows as arrays in the order of the columns."""
        return [list(record.values()) for record in self.rows_as_objects(rows)]

    def metric_values(self, row: ResultRow) -> dict[str, float | int | None]:
        """Returns the metric values of a row."""
        return dict(zip(self.query.metrics, to_json_numbers(row, self.metrics, self.currency), strict=True))


def without_dimensions_and_buckets(query: MetricQuery) -> MetricQuery:
    """Returns the query for the total over the whole range. Totals are queried, never added up."""
    return replace(query, dimensions=(), buckets=None, order=(), limit=None, offset=0)


async def build_comparison_rows_aligned_to_page_and_totals(
    comparison_range: ResolvedRange,
    page: QueryResult,
    renderer: ResponseRenderer,
    *,
    caller: Caller,
    queries: MetricQueries,
    snapshot: SourceSnapshot,
    groups: TopGroups | None = None,
) -> tuple[QueryComparison, list[UnavailableMetric]]:
    """Returns the rows of the page in the comparison range, and what is unavailable there.

    Buckets are matched by position.

    Args:
        groups: the groups that the page keeps; None for a page of rows.
    """
    query = renderer.query
    comparison_query = replace(
        query,
        range=comparison_range,
        order=(),
        limit=None,
        offset=0,
        filters=query.filters if groups else _filters_narrowed_to_page_labels(query, page),
    )
    if query.buckets:
        comparison_query = replace(
            comparison_query,
            buckets=buckets_covering(comparison_range.span, query.buckets.unit, comparison_range.zone),
        )
    compared = (
        await read_rows_of_groups(caller, queries, comparison_query, snapshot, groups)
        if groups
        else (
            await queries.execute_marking_unfit_credits_unavailable(caller, comparison_query, snapshot)
        ).rows
    )
    rows = {(row.bucket, row.labels): row for row in compared}
    totals = await queries.execute_marking_unfit_credits_unavailable(
        caller, without_dimensions_and_buckets(replace(query, range=comparison_range)), snapshot
    )
    empty_values = queries.values_of_row_without_data(query, snapshot)
    records, shown = [], [totals.rows[0].values]
    for row in page.rows:
        bucket = _bucket_at_same_position(row.bucket, query, comparison_query)
        if row.bucket is not None and bucket is None:
            continue
        result_row = rows.get((bucket, row.labels)) or ResultRow(bucket, row.labels, empty_values)
        shown.append(result_row.values)
        record = renderer.rows_as_objects([result_row])[0]
        records.append(
            record if row.bucket is None else {BUCKET: bucket, "aligned_bucket": row.bucket} | record
        )
    comparison = QueryComparison(
        range=RangeResponse.from_range(comparison_range),
        rows=records,
        totals=renderer.metric_values(totals.rows[0]),
    )
    return comparison, list_unavailable_with_reasons(query.metrics, *shown)


def _filters_narrowed_to_page_labels(query: MetricQuery, page: QueryResult) -> tuple[DimensionFilter, ...]:
    """Returns the filters of the query, narrowed to the dimension values of the page."""
    labels = zip(*(row.labels for row in page.rows), strict=True)
    keys = (tuple(sorted(set(dimension_labels))) for dimension_labels in labels)
    narrowed = (
        DimensionFilter(id_, FilterOperator.IN, values)
        for id_, values in zip(query.dimensions, keys, strict=False)
    )
    return (*query.filters, *narrowed)


def _bucket_at_same_position(
    bucket: datetime | None, query: MetricQuery, comparison_query: MetricQuery
) -> datetime | None:
    if bucket is None or query.buckets is None or comparison_query.buckets is None:
        return None
    position = query.buckets.starts.index(bucket)
    return (
        comparison_query.buckets.starts[position] if position < len(comparison_query.buckets.starts) else None
    )
