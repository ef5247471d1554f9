"""`GET /dimension-values`: what a dimension has been, to filter by (contract 4.4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, ClassVar, Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.answers import counts
from service_core.insight.catalog import Dimension
from service_core.insight.countries import COUNTRIES
from service_core.insight.measures import Op, Relation, count
from service_core.insight.ports import Aggregate
from service_core.insight.predicates import uncased
from service_core.insight.query.question import Filter, Order, Question, Row
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import unknown_dimension
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.kernel.operations import operation
from service_core.kernel.paging import Cursor, binding, seal, unseal
from service_core.kernel.params import Answer, Clamp
from service_core.kernel.ranges import Range, whole_days
from service_core.kernel.wall_clock import local_date

_COUNTED: Final = {
    Relation.EVENTS: "visitors",
    Relation.MONEY: "orders",
    Relation.SUBSCRIPTIONS: "active_subscriptions",
}
"""Metrics a value is counted by: the first whose rows have the dimension."""

_DAYS: Final = 90


class ValuesQuery(RangeQuery):
    """Parameters of `GET /dimension-values`; without a range, the last 90 days."""

    needed: ClassVar = ("dimension",)
    dimension: str = Field(default="", description="Id of a dimension.")
    q: str | None = Field(default=None, description="Substring of value or label, whatever the case.")
    limit: Annotated[int, Clamp(1, 500)] = 50
    cursor: str | None = None

    def asked(self, who: Caller) -> Range:
        """The range, or the last 90 days."""
        if self.start_date is None and self.end_date is None:
            return last_days(who)
        return super().asked(who)

    def binding(self, who: Caller) -> bytes:
        """What a cursor of this request is bound to."""
        return binding(
            "dimension-values", str(who.workspace.id), self.model_dump(mode="json", exclude={"cursor"})
        )


class DimensionValue(Answer):
    """One value: send ``value`` in a filter, show ``label``."""

    value: str
    label: str
    count: int = Field(
        description="Visitors; orders for dimensions of money, active subscriptions for plans and products, rows of spend for ads."
    )


class DimensionValues(Answer):
    """Values, most frequent first."""

    dimension: str
    values: list[DimensionValue]
    has_more: bool
    next_cursor: str | None


@operation("GET /dimension-values", tag="query")
async def get_dimension_values(query: ValuesQuery, *, who: Caller, questions: Questions) -> DimensionValues:
    """The values a dimension has had, as filters take them."""
    dimension = questions.catalog.dimensions.get(query.dimension)
    if dimension is None:
        raise unknown_dimension(query.dimension, questions.catalog, "dimension")
    cursor = unseal(query.cursor, query.binding(who)) if query.cursor else Cursor(0, who.now)
    who = replace(who, now=cursor.asked_at)
    values, more = await find_values(
        who,
        questions,
        dimension,
        query.asked(who),
        q=query.q,
        limit=query.limit,
        offset=cursor.offset,
        include_bots=query.include_bots,
    )
    following = Cursor(cursor.offset + len(values), cursor.asked_at)
    return DimensionValues(
        dimension=dimension.id,
        values=values,
        has_more=more,
        next_cursor=seal(following, query.binding(who)) if more else None,
    )


async def find_values(
    who: Caller,
    questions: Questions,
    dimension: Dimension,
    asked: Range,
    *,
    q: str | None,
    limit: int,
    offset: int = 0,
    include_bots: bool = False,
) -> tuple[list[DimensionValue], bool]:
    """A page of values and whether more follow; none where nothing counts by the dimension."""
    metric = next((id_ for relation, id_ in _COUNTED.items() if relation in dimension.columns), None)
    if metric is None:
        told = await advertised(who, questions, (dimension,), asked) if _is_of_ads(dimension) else []
        every = [value for (name,), rows in told if _matches(value := _named(name, rows, dimension), q)]
        return every[offset : offset + limit], len(every) > offset + limit
    question = Question(
        (metric,),
        asked,
        dimensions=(dimension.id,),
        order=(Order(metric), Order(dimension.id, descending=False)),
        include_bots=include_bots,
    )
    if _is_matched_here(dimension):
        table = await questions.ask(who, question)
        every = [value for row in table.rows if _matches(value := _value(row, dimension), q)]
        return every[offset : offset + limit], len(every) > offset + limit
    absent = await _absent(who, questions, question, dimension, q)
    lead = 1 if absent and offset else 0
    page = replace(
        question,
        filters=(Filter(dimension.id, Op.CONTAINS, q),) if q else (),
        limit=limit + lead,
        offset=offset - lead,
    )
    table = await questions.ask(who, page)
    found = [_value(row, dimension) for row in table.rows]
    if (
        absent
    ):  # it stands before the page, in it or after: with the value before the page, that is told by sorting
        found = sorted([*found, absent], key=lambda each: (-each.count, each.value))[lead : lead + limit]
    return found, table.groups + bool(absent) > offset + len(found)


async def advertised(
    who: Caller, questions: Questions, dimensions: Sequence[Dimension], asked: Range
) -> list[tuple[tuple[str, ...], int]]:
    """What there was spend of: labels of the dimensions and how many rows, most first."""
    columns = tuple({str(Relation.SPEND): each.columns[Relation.SPEND]} for each in dimensions)
    plan = Aggregate(scan_of(who, asked.span), (count(Relation.SPEND),), columns)
    source = questions.source(Relation.SPEND)
    found = (await source.aggregate(plan)).rows if source else []
    told: Counter[tuple[str, ...]] = Counter()
    for *values, rows in found:
        told[tuple(each.label_of(value) for each, value in zip(dimensions, values, strict=True))] += rows
    return sorted(told.items(), key=lambda each: (-each[1], each[0]))


def _is_of_ads(dimension: Dimension) -> bool:
    return Relation.SPEND in dimension.columns


def _named(name: str, counted: int, dimension: Dimension) -> DimensionValue:
    label = COUNTRIES.get(name, name) if dimension.id == "country" else name
    return DimensionValue(value=name, label=label, count=counted)


async def _absent(
    who: Caller, questions: Questions, every: Question, dimension: Dimension, q: str | None
) -> DimensionValue | None:
    """What has no value, when its label holds the text: no store knows that label."""
    if not q or uncased(q) not in uncased(dimension.absent):
        return None
    table = await questions.ask(who, replace(every, filters=(Filter(dimension.id, Op.EQ, dimension.absent),)))
    return _value(table.rows[0], dimension) if table.rows else None


def _is_matched_here(dimension: Dimension) -> bool:
    """Few values, whose labels the store does not know."""
    return bool(dimension.labels) or dimension.id == "country"


def _value(row: Row, dimension: Dimension) -> DimensionValue:
    return _named(row.labels[0], counts(row)[0], dimension)


def _matches(value: DimensionValue, q: str | None) -> bool:
    return not q or any(uncased(q) in uncased(name) for name in (value.value, value.label))


def last_days(who: Caller) -> Range:
    """The last 90 local days, today included."""
    zone = who.workspace.zone
    today = local_date(who.now, zone)
    return Range(whole_days(today - timedelta(days=_DAYS - 1), today, zone), zone, who.now)


OPERATIONS = (get_dimension_values,)
