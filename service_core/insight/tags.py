"""`GET /tags`: trackable link tags and who carried them (contract 3.3)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.breakdowns import percentage
from service_core.insight.freshness import is_complete
from service_core.insight.measures import Op, Predicate, Relation, distinct
from service_core.insight.ports import Aggregate, Aggregates, Sort
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue, LinkTags
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.ranges import Range

_CARRIERS = distinct("visitor_id", Relation.EVENTS)


class TagsQuery(RangeQuery):
    """Parameters of `GET /tags`."""

    limit: Annotated[int, Clamp(1, 100)] = Field(20, description="Rows; percentages cover all of them.")


class TagRow(Answer):
    """One link tag; ``link_id`` is null when no link of the workspace has it, and stays when one is deleted."""

    tag: str
    count: int = Field(description="Visitors that carried it in the range.")
    percentage: float
    source: str | None = Field(description="The `attribution_source` most of them had.")
    link_id: UUID | None
    link_name: str | None


class Tags(Answer):
    """Link tags by visitors; ``total`` is the base of the percentages."""

    data: list[TagRow]
    total: int
    range: RangeAnswer
    complete: bool


@operation("GET /tags", tag="traffic")
async def get_tags(
    query: TagsQuery, *, who: Caller, events: Aggregates, queue: IngestQueue, links: LinkTags
) -> Tags:
    """Tags of trackable links, by the visitors that carried them."""
    asked = query.asked(who)
    plan = _by_tag(query, who, asked)
    grid = await events.aggregate(plan)
    tags = [row[0] for row in grid.rows]
    sources = await _sources(events, plan, tags)
    known = await links.tagged(who.workspace.id, tags) if tags else {}
    total = int(grid.sums[0])
    return Tags(
        data=[
            TagRow(
                tag=tag,
                count=count,
                percentage=percentage(count, total),
                source=sources.get(tag),
                link_id=known[tag].id if tag in known else None,
                link_name=known[tag].name if tag in known else None,
            )
            for tag, count in grid.rows
        ],
        total=total,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


def _by_tag(query: TagsQuery, who: Caller, asked: Range) -> Aggregate:
    carried = Predicate("lyr", Op.IS_SET)
    return Aggregate(
        scan_of(who, asked.span, filters=(carried,), include_bots=query.include_bots),
        (_CARRIERS,),
        dimensions=({Relation.EVENTS: "lyr"},),
        order=(Sort("m0"), Sort("d0", descending=False)),
        limit=query.limit,
    )


async def _sources(events: Aggregates, by_tag: Aggregate, tags: Iterable[str]) -> dict[str, str | None]:
    """Tag -> the source most of its visitors had, the first by name among equals."""
    named = Predicate("lyr", Op.IN, tuple(tags))
    if not named.value:
        return {}
    plan = replace(
        by_tag,
        scan=replace(by_tag.scan, filters=(named,)),
        dimensions=({Relation.EVENTS: "lyr"}, {Relation.EVENTS: "attribution_source"}),
        order=(Sort("m0", descending=False), Sort("d1")),
        limit=None,
    )
    return {tag: source for tag, source, _ in (await events.aggregate(plan)).rows}


OPERATIONS = (get_tags,)
