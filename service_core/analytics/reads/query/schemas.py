"""A metric query as the body of `POST /query`, and as saved in reports and analyses."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from service_core.access.models import Caller, Workspace
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import BUCKET, MetricQuery, SortKey
from service_core.analytics.query.ordering import (
    append_unsorted_fields_ascending,
    order_by_time_then_first_metric,
)
from service_core.analytics.query.schemas import (
    MAX_DIMENSIONS,
    Compare,
    FilterBody,
    MetricsRequestBase,
    require_dimensions_accepted_by_metrics,
)
from service_core.analytics.reads.query.response import OrderByBody
from service_core.analytics.reads.query.top_groups import TopBody
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.bucket_series import (
    BUCKET_UNITS,
    buckets_started_by_now,
    build_series_of_at_most_1000_buckets,
    choose_bucket_unit_by_range_length,
)
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest
from service_core.kernel.paging import cursor_scope_digest
from service_core.kernel.schemas import Clamp
from service_core.kernel.time_ranges import Buckets, BucketUnit, ResolvedRange

_MAX_METRICS: Final = 10
_MAX_SORT_KEYS: Final = 4


class AnalyticsQueryBase(MetricsRequestBase):
    """Fields that requests and saved queries share."""

    dimensions: list[str] = Field(default=[], description="Up to 3.")
    interval: str | None = Field(
        default=None, description=f"Bucket size: `auto`, {', '.join(f'`{size}`' for size in BUCKET_UNITS)}."
    )
    order_by: list[OrderByBody] = Field(
        default=[], description="Up to 4; default the first metric, descending."
    )
    limit: Annotated[int, Clamp(1, 1000)] = 100
    top: TopBody | None = Field(
        default=None,
        description="Keeps the groups that are largest by the first metric over the whole range, each with its "
        "complete series when bucketed; `limit` and `cursor` then do not apply.",
    )

    def validate_and_build_metric_query(
        self,
        queries: MetricQueries,
        models: AttributionModels,
        date_range: ResolvedRange,
        workspace: Workspace,
    ) -> tuple[MetricQuery, AttributionSettings | None]:
        """Returns the validated query of the first page, and the attribution it uses.

        Raises:
            BadRequest: with the code of the invalid field.
        """
        catalog = queries.catalog
        ids = self.unique_known_metric_ids(catalog, _MAX_METRICS)
        dimensions = self._unique_accepted_dimensions(catalog, ids)
        self._refuse_top_without_dimensions(dimensions)
        rules = self.credit_rules_needed_by_metrics(catalog, models, ids, workspace)
        query = MetricQuery(
            ids,
            date_range,
            dimensions=dimensions,
            filters=self.parse_filters_accepted_by_metrics(catalog, ids),
            buckets=self._started_buckets_or_none_without_interval(date_range),
            order=self._total_order_of_at_most_4_known_fields(ids, dimensions),
            limit=self.limit,
            credit_rule=rules.requested,
            default_credit_rule=rules.workspace_default,
            book_refunds_at_order=self.refund_basis == "order",
            include_bots=self.include_bots,
        )
        return query, rules.attribution

    def _unique_accepted_dimensions(self, catalog: Catalog, metric_ids: tuple[str, ...]) -> tuple[str, ...]:
        if len(self.dimensions) > MAX_DIMENSIONS:
            raise BadRequest(
                f"At most {MAX_DIMENSIONS} dimensions", "too_many_dimensions", field="dimensions"
            )
        require_dimensions_accepted_by_metrics(catalog, metric_ids, self.dimensions, "dimensions")
        return tuple(dict.fromkeys(self.dimensions))

    def _refuse_top_without_dimensions(self, dimensions: tuple[str, ...]) -> None:
        if self.top is not None and not dimensions:
            raise BadRequest("top keeps groups of a dimension", "invalid_parameter", field="top")

    def _started_buckets_or_none_without_interval(self, date_range: ResolvedRange) -> Buckets | None:
        if not self.interval:
            return None
        if self.interval not in ("auto", *BUCKET_UNITS):
            raise BadRequest(
                f"Unknown interval {self.interval!r}",
                "invalid_interval",
                field="interval",
                hint=f"Intervals: auto, {', '.join(BUCKET_UNITS)}.",
            )
        unit = (
            choose_bucket_unit_by_range_length(date_range)
            if self.interval == "auto"
            else BucketUnit(self.interval)
        )
        return buckets_started_by_now(build_series_of_at_most_1000_buckets(date_range, unit), date_range.now)

    def _total_order_of_at_most_4_known_fields(
        self, metric_ids: tuple[str, ...], dimensions: tuple[str, ...]
    ) -> tuple[SortKey, ...]:
        bucketed = bool(self.interval)
        if not self.order_by:
            return order_by_time_then_first_metric(metric_ids, dimensions, bucketed=bucketed)
        if len(self.order_by) > _MAX_SORT_KEYS:
            raise BadRequest(f"At most {_MAX_SORT_KEYS} sort keys", "invalid_parameter", field="order_by")
        sortable = (*metric_ids, *dimensions, *((BUCKET,) if bucketed else ()))
        for position, key in enumerate(self.order_by):
            if key.field not in sortable:
                raise BadRequest(
                    f"{key.field!r} is no metric, dimension or bucket of this query",
                    "invalid_parameter",
                    field=f"order_by[{position}].field",
                )
        order = tuple(SortKey(key.field, key.direction == "desc") for key in self.order_by)
        return append_unsorted_fields_ascending(order, dimensions, bucketed=bucketed)


class QueryRequest(AsOfRequest, AnalyticsQueryBase):
    """Body of `POST /query`."""

    date_range: DateRange
    compare: Compare = None
    cursor: str | None = None
    format: Literal["rows", "compact"] = "rows"

    @property
    def limit_of_further_groups(self) -> int:
        """The maximum number of groups of the compared range that are not on the page; 0 after the first page."""
        return 0 if self.cursor else self.limit if self.top is None else self.top.limit

    def cursor_binding(self, caller: Caller) -> bytes:
        """Returns the bytes that a cursor of this request is bound to."""
        return cursor_scope_digest(
            caller.workspace.secret,
            str(caller.workspace.id),
            self.cursor_parameters(),
        )


REQUEST_ONLY: Final = tuple(
    name for name in QueryRequest.model_fields if name not in AnalyticsQueryBase.model_fields
)
"""Fields that a saved query may not have, because each run sets them."""


class SavedQuery(AnalyticsQueryBase):
    """A query as saved: without range, comparison, cursor and format."""

    @model_serializer(mode="wrap")
    def _serialize_set_fields_only(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {name: value for name, value in handler(self).items() if name in self.model_fields_set}

    def to_request_with_more_filters(
        self, date_range: DateRange, *, extra_filters: Sequence[FilterBody] = (), **request_fields: Any
    ) -> "QueryRequest":
        """Returns the request that runs the query over a range.

        Args:
            date_range: the range.
            extra_filters: conditions in addition to those of the saved query.
            request_fields: fields of the request that replace those of the saved query.
        """
        all_filters = [*self.filters, *extra_filters]
        return SavedQueryRequest.model_validate(
            {**dict(self), "date_range": date_range, "filters": all_filters, **request_fields}
        )


class SavedQueryRequest(QueryRequest):
    """The request of a saved query: its own filters and as many of the run."""

    max_filters: ClassVar[int] = 2 * MetricsRequestBase.max_filters
