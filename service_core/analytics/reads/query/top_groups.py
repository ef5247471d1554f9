"""The largest groups of a query, each with its complete series, and the rest as one group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import OTHER_GROUP_LABEL, DimensionFilter, MetricQuery, ResultRow
from service_core.analytics.query.ordering import order_by_time_then_first_metric, sort_rows_unknown_last
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.schemas import BodyModel, Clamp


class TopBody(BodyModel):
    """Which groups a query keeps."""

    limit: Annotated[int, Clamp(1, 50)] = Field(default=10, description="How many of the largest groups.")
    other: bool = Field(
        default=False,
        description=f"Adds the rest as one group labelled `{OTHER_GROUP_LABEL}` in each dimension.",
    )


@dataclass(frozen=True, slots=True)
class TopGroups:
    """The groups that an answer keeps.

    Attributes:
        labels: the labels of each group, the largest first.
        has_other: whether the rest is a group of its own.
    """

    labels: tuple[tuple[str, ...], ...]
    has_other: bool


async def rank_groups_by_first_metric(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot, top: TopBody
) -> TopGroups:
    """Returns the groups that are largest by the first metric over the whole range, ties by label.

    A group that has the label of the rest by chance belongs to the rest.
    """
    ranking = replace(
        query,
        buckets=None,
        order=order_by_time_then_first_metric(query.metrics, query.dimensions, bucketed=False),
        limit=top.limit + 1,
        offset=0,
    )
    ranked = await queries.execute_marking_unfit_credits_unavailable(caller, ranking, snapshot)
    labels = [row.labels for row in ranked.rows if not (top.other and row.labels == query.other_labels)]
    kept = tuple(labels[: top.limit])
    return TopGroups(kept, top.other and ranked.total_rows > len(kept))


async def query_rows_of_groups_filling_empty(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot, groups: TopGroups
) -> tuple[ResultRow, ...]:
    """Returns a row of every group, or one for every bucket of it, in the order of the query.

    The rest is queried, never added up: a visitor of two groups counts once in it.
    """
    kept, rest = await gather_or_cancel(
        _query_rows_of_kept_labels(caller, queries, query, snapshot, groups.labels),
        _query_rest_relabelled_as_other(caller, queries, query, snapshot, groups)
        if groups.has_other
        else _no_rows(),
    )
    by_key = {(row.bucket, row.labels): row for row in kept}
    empty_values = queries.values_of_row_without_data(query, snapshot)
    starts = query.buckets.starts if query.buckets else (None,)
    complete = [
        by_key.get((start, labels)) or ResultRow(start, labels, empty_values)
        for labels in groups.labels
        for start in starts
    ]
    return tuple(sort_rows_unknown_last([*complete, *rest], query))


async def _query_rows_of_kept_labels(
    caller: Caller,
    queries: MetricQueries,
    query: MetricQuery,
    snapshot: SourceSnapshot,
    groups: Sequence[tuple[str, ...]],
) -> Sequence[ResultRow]:
    if not groups:
        return ()
    narrowed = (
        DimensionFilter(id_, FilterOperator.IN, tuple(sorted(set(labels))))
        for id_, labels in zip(query.dimensions, zip(*groups, strict=True), strict=True)
    )
    result = await queries.execute_marking_unfit_credits_unavailable(
        caller, _unlimited(query, *narrowed), snapshot
    )
    return result.rows


async def _query_rest_relabelled_as_other(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot, groups: TopGroups
) -> Sequence[ResultRow]:
    if len(query.dimensions) > 1:
        rest = replace(_unlimited(query), groups_left_out=frozenset(groups.labels))
    else:
        kept = tuple(labels[0] for labels in groups.labels)
        outside = [DimensionFilter(query.dimensions[0], FilterOperator.NOT_IN, kept)] if kept else []
        rest = replace(_unlimited(query, *outside), dimensions=())
    result = await queries.execute_marking_unfit_credits_unavailable(caller, rest, snapshot)
    return [replace(row, labels=query.other_labels) for row in result.rows]


def _unlimited(query: MetricQuery, *filters: DimensionFilter) -> MetricQuery:
    return replace(query, filters=(*query.filters, *filters), order=(), limit=None, offset=0)


async def _no_rows() -> Sequence[ResultRow]:
    return ()
