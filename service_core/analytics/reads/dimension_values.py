"""`GET /dimension-values`: values of a dimension, for filters."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Final
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator, Relation, count_rows
from service_core.analytics.ports import AggregateQuery
from service_core.analytics.query.catalog import Dimension, is_property_dimension
from service_core.analytics.query.evaluate_predicate import lower_case_letter_by_letter
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, ResultRow, SortKey
from service_core.analytics.query.result_values import as_counts
from service_core.analytics.query.schemas import unknown_dimension_error
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.range_query import RangeQuery, resolve_last_90_days
from service_core.analytics.reads.countries import COUNTRIES
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

_COUNTING_METRICS: Final = {
    Relation.EVENTS: "visitors",
    Relation.PAYMENTS: "orders",
    Relation.SUBSCRIPTIONS: "active_subscriptions",
}
"""The metric that counts a value: the first whose relation has the dimension."""

_SOLD_OR_SUBSCRIBED: Final = "product"
"""The dimension whose values are those of orders and of subscriptions; both count."""

_CUSTOMERS: Final = "customers"
"""The metric that counts products of orders. Orders count at their largest item alone, so other products would be missing."""


class DimensionValuesQuery(RowSelection, RangeQuery):
    """Parameters of `GET /dimension-values`; the default range is the last 90 days."""

    required_params: ClassVar = ("dimension",)
    dimension: str = Field(default="", description="Id of a dimension, or `property:<key>`.")
    q: str | None = Field(default=None, description="Substring of value or label, whatever the case.")
    limit: Annotated[int, Clamp(1, 500)] = 50
    cursor: str | None = None
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 90 local days."""
        return resolve_last_90_days(caller)

    def cursor_binding(self, caller: Caller) -> bytes:
        """Returns the bytes that a cursor of this request is bound to."""
        return cursor_scope_digest(
            caller.workspace.secret,
            "dimension-values",
            str(caller.workspace.id),
            self.cursor_parameters(),
        )


class DimensionValue(ResponseModel):
    """One value: send ``value`` in a filter, show ``label``."""

    value: str
    label: str
    count: int = Field(
        description="Visitors; events for custom properties, orders for dimensions of money, active subscriptions for plans, these and customers for products, rows of spend for ads."
    )


class DimensionValues(ResponseModel):
    """Values, most frequent first."""

    dimension: str
    values: list[DimensionValue]
    has_more: bool
    next_cursor: str | None


@operation("GET /dimension-values", tag="query", tool="list_dimension_values", is_aggregate=True)
async def get_dimension_values(
    query: DimensionValuesQuery, *, caller: Caller, queries: MetricQueries
) -> DimensionValues:
    """Lists the values of a dimension, as filters accept them."""
    dimension = queries.catalog.dimension_or_none(query.dimension)
    if dimension is None:
        raise unknown_dimension_error(query.dimension, queries.catalog, "dimension")
    cursor = (
        decode_offset_cursor(query.cursor, query.cursor_binding(caller))
        if query.cursor
        else OffsetCursor(0, caller.now)
    )
    caller = replace(caller, now=cursor.first_requested_at)
    segment = await queries.read_segment_filters(
        caller, query.segment_id, counting_metric_or_empty(dimension)
    )
    if segment and not counting_metric_or_empty(dimension):
        raise BadRequest(
            f"{dimension.id} is no dimension of events",
            "incompatible_dimension",
            field="segment_id",
            hint="Leave segment_id out.",
        )
    snapshot = await queries.read_source_states_once(caller, counting_metric_or_empty(dimension))
    values, more = await page_of_dimension_values_by_count(
        caller,
        queries,
        snapshot,
        dimension,
        query.resolve_range_or_default(caller),
        search_text=query.q,
        limit=query.limit,
        offset=cursor.offset,
        segment=segment,
        include_bots=query.include_bots,
    )
    following = OffsetCursor(cursor.offset + len(values), cursor.first_requested_at)
    return DimensionValues(
        dimension=dimension.id,
        values=values,
        has_more=more,
        next_cursor=encode_offset_cursor(following, query.cursor_binding(caller)) if more else None,
    )


def counting_metric_or_empty(dimension: Dimension) -> tuple[str, ...]:
    """Returns the ids of the metrics whose sum counts the values of a dimension; empty if none does."""
    if is_property_dimension(dimension.id):
        return ("events",)
    if dimension.id == _SOLD_OR_SUBSCRIBED:
        return (_CUSTOMERS, _COUNTING_METRICS[Relation.SUBSCRIPTIONS])
    ids = (id_ for relation, id_ in _COUNTING_METRICS.items() if relation in dimension.columns)
    return tuple(ids)[:1]


async def page_of_dimension_values_by_count(
    caller: Caller,
    queries: MetricQueries,
    snapshot: SourceSnapshot,
    dimension: Dimension,
    date_range: ResolvedRange,
    *,
    search_text: str | None,
    limit: int,
    offset: int = 0,
    segment: tuple[DimensionFilter, ...] = (),
    include_bots: bool = False,
) -> tuple[list[DimensionValue], bool]:
    """Returns a page of values and whether more follow; nothing if no metric counts by the dimension.

    Args:
        caller: the caller, whose workspace is read.
        queries: executes metric queries.
        snapshot: states of the sources of `counting_metric_or_empty`.
        dimension: the dimension.
        date_range: the range.
        search_text: part of the value or label, whatever the case; None for all.
        limit: maximum number of values.
        offset: number of values to skip.
        segment: the filters of the segment.
        include_bots: also count events of bots.
    """
    metrics = counting_metric_or_empty(dimension)
    if not metrics:
        counts = (
            await spend_row_counts_by_label_descending(caller, queries, (dimension,), date_range)
            if Relation.SPEND in dimension.columns
            else []
        )
        values = [
            value
            for (name,), rows in counts
            if _matches_search(value := _build_dimension_value(name, rows, dimension), search_text)
        ]
        return values[offset : offset + limit], len(values) > offset + limit
    query = MetricQuery(
        metrics,
        date_range,
        dimensions=(dimension.id,),
        filters=segment,
        order=(SortKey(metrics[0]), SortKey(dimension.id, descending=False)),
        include_bots=include_bots,
    )
    if _is_filtered_in_python(dimension):
        result = await queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot)
        values = [
            value
            for row in result.rows
            if _matches_search(value := _build_dimension_value_from_row(row, dimension), search_text)
        ]
        values.sort(key=lambda value: (-value.count, value.value))
        return values[offset : offset + limit], len(values) > offset + limit
    absent = await _read_null_value_if_label_matches(
        caller, queries, snapshot, query, dimension=dimension, search_text=search_text
    )
    prefix = 1 if absent and offset else 0
    page_query = replace(
        query,
        filters=(
            *query.filters,
            *([DimensionFilter(dimension.id, FilterOperator.CONTAINS, search_text)] if search_text else []),
        ),
        limit=limit + prefix,
        offset=offset - prefix,
    )
    result = await queries.execute_marking_unfit_credits_unavailable(caller, page_query, snapshot)
    page_values = [_build_dimension_value_from_row(row, dimension) for row in result.rows]
    # The value of absent rows may belong before, on or after the page: sorting it with the value before
    # the page decides.
    if absent:
        page_values = sorted([*page_values, absent], key=lambda value: (-value.count, value.value))[
            prefix : prefix + limit
        ]
    return page_values, result.total_rows + bool(absent) > offset + len(page_values)


async def spend_row_counts_by_label_descending(
    caller: Caller, queries: MetricQueries, dimensions: Sequence[Dimension], date_range: ResolvedRange
) -> list[tuple[tuple[str, ...], int]]:
    """Returns the labels of ad dimensions with the number of spend rows, most frequent first."""
    columns = tuple({str(Relation.SPEND): dimension.columns[Relation.SPEND]} for dimension in dimensions)
    plan = AggregateQuery(scope_for_caller(caller, date_range.span), (count_rows(Relation.SPEND),), columns)
    source = queries.source_of_relation_or_none(Relation.SPEND)
    spend_rows = (await source.aggregate(plan)).rows if source else []
    counts: Counter[tuple[str, ...]] = Counter()
    for *values, rows in spend_rows:
        counts[
            tuple(dimension.label_of(value) for dimension, value in zip(dimensions, values, strict=True))
        ] += rows
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def _build_dimension_value(name: str, counted: int, dimension: Dimension) -> DimensionValue:
    label = COUNTRIES.get(name, name) if dimension.id == "country" else name
    return DimensionValue(value=name, label=label, count=counted)


async def _read_null_value_if_label_matches(
    caller: Caller,
    queries: MetricQueries,
    snapshot: SourceSnapshot,
    query: MetricQuery,
    *,
    dimension: Dimension,
    search_text: str | None,
) -> DimensionValue | None:
    """Returns the value that stands for absent ones if its label contains the text: stores do not know that label."""
    if not search_text or lower_case_letter_by_letter(search_text) not in lower_case_letter_by_letter(
        dimension.null_label
    ):
        return None
    result = await queries.execute_marking_unfit_credits_unavailable(
        caller,
        replace(
            query,
            filters=(
                *query.filters,
                DimensionFilter(dimension.id, FilterOperator.EQ, dimension.null_label),
            ),
        ),
        snapshot,
    )
    return _build_dimension_value_from_row(result.rows[0], dimension) if result.rows else None


def _is_filtered_in_python(dimension: Dimension) -> bool:
    """Whether the dimension has few values with labels that stores do not know, or values of two sources."""
    return bool(dimension.labels) or dimension.id in {"country", _SOLD_OR_SUBSCRIBED}


def _build_dimension_value_from_row(row: ResultRow, dimension: Dimension) -> DimensionValue:
    return _build_dimension_value(row.labels[0], sum(as_counts(row)), dimension)


def _matches_search(value: DimensionValue, search_text: str | None) -> bool:
    return not search_text or any(
        lower_case_letter_by_letter(search_text) in lower_case_letter_by_letter(text)
        for text in (value.value, value.label)
    )


OPERATIONS = (get_dimension_values,)
