"""`POST /query`: metrics by dimensions over time."""

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.ports import EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery, QueryResult, ResultRow
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.query.unmeasured_platforms import (
    list_unavailable_metric_per_platform_without_spend,
)
from service_core.analytics.reads.did_you_mean import suggest_recent_values_for_exact_filters
from service_core.analytics.reads.metric_values import (
    list_unavailable_with_reasons,
    resolve_comparison_range,
    resolve_range_reading_first_event_for_all_time,
)
from service_core.analytics.reads.query.answer_table import answer_table_with_missing_values_in_headers
from service_core.analytics.reads.query.comparison import QueryComparer
from service_core.analytics.reads.query.response import (
    OrderByBody,
    QueryComparison,
    QueryMeta,
    QueryResponse,
    ResolvedQuery,
    ResolvedTopQuery,
    ResponseRenderer,
    without_dimensions_and_buckets,
)
from service_core.analytics.reads.query.schemas import QueryRequest
from service_core.analytics.reads.query.top_groups import (
    TopBody,
    TopGroups,
    query_rows_of_groups_filling_empty,
    rank_groups_by_first_metric,
)
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import UnavailableMetric
from service_core.kernel.operations import operation
from service_core.kernel.paging import OffsetCursor, decode_offset_cursor, encode_offset_cursor


@operation(
    "POST /query",
    tag="query",
    tool="analytics_query",
    tool_title="Query",
    table=answer_table_with_missing_values_in_headers,
    is_aggregate=True,
)
async def post_query(
    body: QueryRequest,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
) -> QueryResponse:
    """Returns metrics by up to 3 dimensions, filtered, bucketed, ordered and paged.

    `top` keeps the largest groups with their complete series: what a line chart is drawn from.
    `totals` cover the whole range. A value that is not measured is null and listed in `meta.unavailable`.
    `Accept` chooses CSV, NDJSON or an Arrow stream; their headers name unknown metrics and say whether more rows follow.
    """
    started = perf_counter()
    cursor = (
        decode_offset_cursor(body.cursor, body.cursor_binding(caller))
        if body.cursor
        else OffsetCursor(0, caller.now)
    )
    caller = replace(caller, now=cursor.first_requested_at)
    date_range = await resolve_range_reading_first_event_for_all_time(body.date_range, caller, event_reader)
    query, attribution = body.validate_and_build_metric_query(queries, models, date_range, caller.workspace)
    segment = await queries.read_segment_filters(caller, body.segment_id, query.metrics)
    query = replace(query, filters=(*query.filters, *segment))
    snapshot = await queries.read_source_states_once(caller, query.metrics)
    groups, page, totals = (
        await _read_page_and_totals(caller, queries, replace(query, offset=cursor.offset), snapshot)
        if body.top is None
        else await _read_largest_groups_and_totals(
            caller, queries, query, snapshot, body.top, with_empty_rest=bool(body.compare)
        )
    )
    renderer = ResponseRenderer(query, queries.metrics_by_id(query.metrics), caller.workspace.currency)
    previous_range = await resolve_comparison_range(body.compare, date_range, caller, event_reader)
    unavailable = list_unavailable_with_reasons(
        query.metrics, totals.values, *(row.values for row in page.rows)
    )
    comparison: QueryComparison | None = None
    unavailable_before: list[UnavailableMetric] = []
    if previous_range:
        comparer = QueryComparer(
            caller, queries, snapshot, renderer, previous_range, groups, body.limit_of_further_groups
        )
        comparison, unavailable_before = await comparer.compare_page(page, compact=body.format == "compact")
    unmeasured = await queries.list_platforms_with_touches_but_no_spend(caller, query, snapshot)
    unavailable += list_unavailable_metric_per_platform_without_spend(
        queries.catalog, query.metrics, unmeasured
    )
    return QueryResponse(
        columns=renderer.result_columns(),
        rows=renderer.rows_as_arrays(page.rows)
        if body.format == "compact"
        else renderer.rows_as_objects(page.rows),
        totals=renderer.metric_values(totals),
        comparison=comparison,
        meta=QueryMeta(
            resolved=_describe_resolved_query(body, query, attribution, caller),
            unavailable=[*unavailable, *(item for item in unavailable_before if item not in unavailable)],
            **_truncation_and_next_cursor(body, caller, cursor, page),
            row_count=len(page.rows),
            complete=not unmeasured
            and snapshot.is_complete_without_failed_source(
                query.range, query.metrics, query.grouped_and_single_value_dimensions
            ),
            data_through=snapshot.complete_through(query),
            did_you_mean=await suggest_recent_values_for_exact_filters(caller, queries, query, snapshot)
            if not body.cursor
            else [],
            query_ms=round((perf_counter() - started) * 1000),
        ),
    )


class _PageAndTotals(NamedTuple):
    """The rows of an answer and its row of totals; with `top`, the groups that it keeps."""

    groups: TopGroups | None
    page: QueryResult
    totals: ResultRow


async def _read_page_and_totals(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot
) -> _PageAndTotals:
    """Returns the page and the totals; without dimensions and buckets they are the same row."""
    if not query.dimensions and query.buckets is None and query.offset == 0:
        page = await queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot)
        return _PageAndTotals(None, page, page.rows[0])
    page, totals = await gather_or_cancel(
        queries.execute_marking_unfit_credits_unavailable(caller, query, snapshot),
        queries.execute_marking_unfit_credits_unavailable(
            caller, without_dimensions_and_buckets(query), snapshot
        ),
    )
    return _PageAndTotals(None, page, totals.rows[0])


async def _read_largest_groups_and_totals(
    caller: Caller,
    queries: MetricQueries,
    query: MetricQuery,
    snapshot: SourceSnapshot,
    top: TopBody,
    *,
    with_empty_rest: bool,
) -> _PageAndTotals:
    """Returns the largest groups, and all their rows with the totals.

    Args:
        with_empty_rest: keep the group of the rest without rows: groups of a compared range may be in it.
    """
    groups, totals = await gather_or_cancel(
        rank_groups_by_first_metric(caller, queries, query, snapshot, top),
        queries.execute_marking_unfit_credits_unavailable(
            caller, without_dimensions_and_buckets(query), snapshot
        ),
    )
    if top.other and with_empty_rest:
        groups = replace(groups, has_other=True)
    rows = await query_rows_of_groups_filling_empty(caller, queries, query, snapshot, groups)
    return _PageAndTotals(groups, QueryResult(rows, len(rows), ()), totals.rows[0])


def _truncation_and_next_cursor(
    body: QueryRequest, caller: Caller, cursor: OffsetCursor, page: QueryResult
) -> dict[str, Any]:
    """Returns whether rows are left, and the cursor of the next page."""
    following = OffsetCursor(cursor.offset + len(page.rows), cursor.first_requested_at)
    is_cut = page.total_rows > following.offset
    return {
        "truncated": is_cut,
        "next_cursor": encode_offset_cursor(following, body.cursor_binding(caller)) if is_cut else None,
    }


def _describe_resolved_query(
    body: QueryRequest, query: MetricQuery, attribution: AttributionSettings | None, caller: Caller
) -> ResolvedQuery:
    resolved = _describe_query_without_top(body, query, attribution, caller)
    return resolved if body.top is None else ResolvedTopQuery(**dict(resolved), top=body.top)


def _describe_query_without_top(
    body: QueryRequest, query: MetricQuery, attribution: AttributionSettings | None, caller: Caller
) -> ResolvedQuery:
    return ResolvedQuery(
        date_range=RangeResponse.from_range(query.range),
        timezone=caller.workspace.timezone,
        interval=query.buckets.unit.value if query.buckets else None,
        attribution=attribution,
        refund_basis=body.refund_basis,
        currency=caller.workspace.currency,
        order_by=[
            OrderByBody(field=key.field, direction="desc" if key.descending else "asc") for key in query.order
        ],
        limit=body.limit,
    )


OPERATIONS = (post_query,)
