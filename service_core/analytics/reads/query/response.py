"""The answer of `POST /query`: columns, rows, totals, comparison and metadata."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PrivateAttr, WithJsonSchema

from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.models import BUCKET, MetricQuery, ResultRow
from service_core.analytics.query.result_values import to_json_numbers
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.query.unmeasured_platforms import UnavailablePlatformMetric
from service_core.analytics.reads.query.top_groups import TopBody
from service_core.analytics.reads.value_suggestion import ValueSuggestion
from service_core.kernel.answer_table import CellType, ColumnType
from service_core.kernel.bucket_dates import format_local_date_of_bucket
from service_core.kernel.bucket_series import cut_or_unfinished_bucket_flags
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.money import currency_decimals
from service_core.kernel.null_reasons import LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.schemas import BodyModel, ResponseModel


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
    _is_whole_number: bool = PrivateAttr(default=False)

    @classmethod
    def of_metric(cls, metric: Metric) -> "MetricColumn":
        """Returns the column of a metric."""
        column = cls(id=metric.id, kind="metric", unit=metric.unit)
        column._is_whole_number = metric.is_whole_number
        return column

    def column_type(self, currency: str) -> ColumnType:
        """Returns the type of the values; money is a decimal in major units."""
        if self.unit in (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT):
            return ColumnType(CellType.DECIMAL, currency_decimals(currency))
        return ColumnType(CellType.INTEGER if self._is_whole_number else CellType.FLOAT)


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
    unavailable: list[UnavailablePlatformMetric | UnavailableMetric]
    truncated: bool = Field(description="Rows stop at `limit`; go on with `next_cursor`.")
    next_cursor: str | None
    row_count: int
    complete: bool
    data_through: datetime
    did_you_mean: list[ValueSuggestion]
    query_ms: int


_BUCKET_DETAILS: Final = ("date", "partial")
"""What stands beside a bucket: its local date, and whether it is cut by the range or not over yet."""

_ROWS_SCHEMA: Final = {
    "type": "array",
    "items": {"anyOf": [{"type": "object", "additionalProperties": True}, {"type": "array", "items": {}}]},
}
"""All rows are of one form; generators of typed clients cannot tell two kinds of arrays apart, but two kinds of rows."""


class QueryComparison(ResponseModel):
    """The comparison range: the groups of this page, the largest further groups, the rest and the totals."""

    range: RangeResponse
    columns: list[str] = Field(description="Names of the values of a row in the `compact` format.")
    rows: Annotated[
        list[dict[str, Any]] | list[list[Any]],
        WithJsonSchema(_ROWS_SCHEMA),
        Field(
            description="Rows of the groups of this page. On the first page rows of the groups follow that were largest in "
            "this range and are not on the page: their `current` has the values of now, null for a group that vanished."
        ),
    ]
    other: Annotated[dict[str, float | int | None] | None, LISTED_BY_OPERATION] = Field(
        description="All other groups as one. Rows and `other` add up to the totals of additive metrics; with "
        "`interval` it has these metrics only."
    )
    totals: Annotated[dict[str, float | int | None], LISTED_BY_OPERATION]


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
    _partial_by_bucket: Mapping[datetime, bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Computes once which buckets are partial."""
        buckets = self.query.buckets
        flags = cut_or_unfinished_bucket_flags(buckets, self.query.range) if buckets else []
        starts = buckets.starts if buckets else ()
        object.__setattr__(self, "_partial_by_bucket", dict(zip(starts, flags, strict=True)))

    def result_columns(self) -> list[MetricColumn | ResultColumn]:
        """Returns the columns in order: bucket with its local date, dimensions, metrics."""
        bucket = [
            ResultColumn(id=name, kind="bucket") for name in (BUCKET, *_BUCKET_DETAILS) if self.query.buckets
        ]
        dimensions = [ResultColumn(id=id_, kind="dimension") for id_ in self.query.dimensions]
        metrics = [MetricColumn.of_metric(metric) for metric in self.metrics]
        return [*bucket, *dimensions, *metrics]

    def rows_as_objects(self, rows: Iterable[ResultRow]) -> list[dict[str, Any]]:
        """Returns rows as objects with the columns in order."""
        return [
            self._bucket_fields(row.bucket)
            | dict(zip(self.query.dimensions, row.labels, strict=True))
            | self.metric_values(row)
            for row in rows
        ]

    def _bucket_fields(self, bucket: datetime | None) -> dict[str, Any]:
        """Returns the bucket, its local date, and whether it is cut by the range or not over yet."""
        buckets = self.query.buckets
        if bucket is None or buckets is None:
            return {}
        return {
            BUCKET: bucket,
            "date": format_local_date_of_bucket(bucket, buckets.unit, self.query.range.zone),
            "partial": self._partial_by_bucket[bucket],
        }

    def rows_as_arrays(self, rows: Iterable[ResultRow]) -> list[list[Any]]:
        """Returns rows as arrays in the order of the columns."""
        return [list(record.values()) for record in self.rows_as_objects(rows)]

    def metric_values(self, row: ResultRow) -> dict[str, float | int | None]:
        """Returns the metric values of a row."""
        return dict(zip(self.query.metrics, to_json_numbers(row, self.metrics, self.currency), strict=True))


def without_dimensions_and_buckets(query: MetricQuery) -> MetricQuery:
    """Returns the query for the total over the whole range. Totals are queried, never added up."""
    return replace(query, dimensions=(), buckets=None, order=(), limit=None, offset=0)
