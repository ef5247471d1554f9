"""`GET /tags`: link tags by visitors."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.measures import (
    Column,
    Condition,
    FilterOperator,
    Predicate,
    Relation,
    count_distinct,
)
from service_core.analytics.ports import AggregateQuery, AggregateReader, ColumnSort
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.breakdowns import compute_percentage
from service_core.analytics.scope import scope_for_caller
from service_core.ingestion.ports import LinkLookup
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

_TAGGED_VISITORS = count_distinct("visitor_id", Relation.EVENTS, IS_VISIT_EVENT)


class LinkTagsQuery(RowSelection, RangeQuery):
    """Parameters of `GET /tags`."""

    limit: Annotated[int, Clamp(1, 100)] = Field(20, description="Rows; percentages cover all of them.")
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")


class LinkTagCount(ResponseModel):
    """One link tag; ``link_id`` is null if no link of the workspace has it, and stays after the link is deleted."""

    tag: str
    count: int = Field(description="Visitors that carried it in the range.")
    percentage: float
    source: str | None = Field(description="The `attribution_source` most of them had.")
    link_id: UUID | None
    link_name: str | None


class LinkTagsResponse(ResponseModel):
    """Link tags by visitors; ``total`` is the base of the percentages."""

    data: list[LinkTagCount]
    total: int
    range: RangeResponse
    complete: bool


@operation("GET /tags", tag="traffic", tool_title="Link tags", is_aggregate=True)
async def get_tags(
    query: LinkTagsQuery,
    *,
    caller: Caller,
    aggregate_reader: AggregateReader,
    freshness: EventFreshness,
    links: LinkLookup,
    queries: MetricQueries,
) -> LinkTagsResponse:
    """Returns the tags of trackable links by visitors."""
    date_range = query.resolve_range_or_default(caller)
    segment = await queries.read_segment_event_conditions(caller, query.segment_id)
    plan = _build_top_tags_by_visitors_query(query, caller, date_range, segment)
    result = await aggregate_reader.aggregate(plan)
    tags = [row[0] for row in result.rows]
    sources = await _query_most_common_source_by_tag(aggregate_reader, plan, tags)
    links_by_tag = await links.links_by_tag(caller.workspace.id, tags) if tags else {}
    total = int(result.totals[0])
    return LinkTagsResponse(
        data=[
            LinkTagCount(
                tag=tag,
                count=count,
                percentage=compute_percentage(count, total),
                source=sources.get(tag),
                link_id=links_by_tag[tag].id if tag in links_by_tag else None,
                link_name=links_by_tag[tag].name if tag in links_by_tag else None,
            )
            for tag, count in result.rows
        ],
        total=total,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _build_top_tags_by_visitors_query(
    query: LinkTagsQuery, caller: Caller, date_range: ResolvedRange, segment: Sequence[Condition]
) -> AggregateQuery:
    carried = Predicate("lyr", FilterOperator.IS_SET)
    return AggregateQuery(
        scope_for_caller(
            caller, date_range.span, filters=(carried, *segment), include_bots=query.include_bots
        ),
        (_TAGGED_VISITORS,),
        dimensions=({Relation.EVENTS: Column("lyr")},),
        order=(ColumnSort("m0"), ColumnSort("d0", descending=False)),
        limit=query.limit,
    )


async def _query_most_common_source_by_tag(
    aggregate_reader: AggregateReader, visitors_by_tag_query: AggregateQuery, tags: Iterable[str]
) -> dict[str, str | None]:
    """Returns tag to the source that most of its visitors had, the first by name among equals."""
    has_tag = Predicate("lyr", FilterOperator.IN, tuple(tags))
    if not has_tag.value:
        return {}
    plan = replace(
        visitors_by_tag_query,
        scope=replace(visitors_by_tag_query.scope, filters=(*visitors_by_tag_query.scope.filters, has_tag)),
        dimensions=({Relation.EVENTS: Column("lyr")}, {Relation.EVENTS: Column("attribution_source")}),
        order=(ColumnSort("m0", descending=False), ColumnSort("d1")),
        limit=None,
    )
    return {tag: source for tag, source, _ in (await aggregate_reader.aggregate(plan)).rows}


OPERATIONS = (get_tags,)
