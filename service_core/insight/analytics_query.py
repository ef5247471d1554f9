"""`POST /query`: metrics by dimensions over time (contract 4.3)."""

import asyncio
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from service_core.access.model import Caller, Workspace
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.catalog import Catalog
from service_core.insight.metric_values import not_measured, resolved
from service_core.insight.ports import EventLog
from service_core.insight.query.ordering import default_order, total_order
from service_core.insight.query.question import BUCKET, Order, Question, Row, Table
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import (
    MOST_DIMENSIONS,
    Compare,
    MetricsBody,
    check_dimensions,
    compared_range,
)
from service_core.insight.query_answer import (
    Form,
    Meta,
    OrderBody,
    QueryAnswer,
    Resolved,
    compared_with,
    in_total,
)
from service_core.insight.suggestions import suggestions
from service_core.kernel.date_range import DateRange, RangeAnswer
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.paging import Cursor, binding, seal, unseal
from service_core.kernel.params import Clamp
from service_core.kernel.ranges import Buckets, Range, Unit
from service_core.kernel.series import SIZES, auto_unit, elapsed, series

_MOST_METRICS: Final = 10
_MOST_ORDERS: Final = 4


class QueryRequest(MetricsBody):
    """An `analytics_query` plan."""

    dimensions: list[str] = Field(default=[], description="Up to 3.")
    date_range: DateRange
    interval: str | None = Field(default=None, description="Bucket size: `auto`, `hour` … `quarter`.")
    compare: Compare = None
    order_by: list[OrderBody] = Field(
        default=[], description="Up to 4; default the first metric, descending."
    )
    limit: Annotated[int, Clamp(1, 1000)] = 100
    cursor: str | None = None
    format: Literal["rows", "compact"] = "rows"

    def binding(self, who: Caller) -> bytes:
        """What a cursor of this request is bound to."""
        return binding(str(who.workspace.id), self.model_dump(mode="json", exclude={"cursor"}))

    def question(
        self, questions: Questions, models: Models, asked: Range, workspace: Workspace
    ) -> tuple[Question, Attribution | None]:
        """The question of the first page, checked.

        Raises:
            BadRequest: with the code of what does not fit.
        """
        catalog = questions.catalog
        ids = self.metric_ids(catalog, _MOST_METRICS)
        dimensions = self._dimensions(catalog, ids)
        given = self.credits(catalog, models, ids, workspace)
        question = Question(
            ids,
            asked,
            dimensions=dimensions,
            filters=self.checked_filters(catalog, ids),
            buckets=self._buckets(asked),
            order=self._order(ids, dimensions),
            limit=self.limit,
            credit=given.asked,
            usual_credit=given.usual,
            order_refunds=self.refund_basis == "order",
            include_bots=self.include_bots,
        )
        return question, given.attribution

    def _dimensions(self, catalog: Catalog, ids: tuple[str, ...]) -> tuple[str, ...]:
        if len(self.dimensions) > MOST_DIMENSIONS:
            raise BadRequest(
                f"At most {MOST_DIMENSIONS} dimensions", "too_many_dimensions", field="dimensions"
            )
        check_dimensions(catalog, ids, self.dimensions, "dimensions")
        return tuple(dict.fromkeys(self.dimensions))

    def _buckets(self, asked: Range) -> Buckets | None:
        if self.interval is None:
            return None
        if self.interval not in ("auto", *SIZES):
            raise BadRequest(f"Unknown interval {self.interval!r}", "invalid_interval", field="interval")
        unit = auto_unit(asked) if self.interval == "auto" else Unit(self.interval)
        return elapsed(series(asked, unit), asked.now)

    def _order(self, ids: tuple[str, ...], dimensions: tuple[str, ...]) -> tuple[Order, ...]:
        bucketed = self.interval is not None
        if not self.order_by:
            return default_order(ids, dimensions, bucketed=bucketed)
        if len(self.order_by) > _MOST_ORDERS:
            raise BadRequest(f"At most {_MOST_ORDERS} sort keys", "invalid_parameter", field="order_by")
        known = (*ids, *dimensions, *((BUCKET,) if bucketed else ()))
        for position, key in enumerate(self.order_by):
            if key.field not in known:
                raise BadRequest(
                    f"{key.field!r} is no metric, dimension or bucket of this query",
                    "invalid_parameter",
                    field=f"order_by[{position}].field",
                )
        order = tuple(Order(key.field, key.direction == "desc") for key in self.order_by)
        return total_order(order, dimensions, bucketed=bucketed)


@operation("POST /query", tag="query")
async def post_query(
    body: QueryRequest, *, who: Caller, questions: Questions, models: Models, log: EventLog
) -> QueryAnswer:
    """Metrics by up to 3 dimensions, filtered, bucketed, ordered and paged.

    `totals` cover the whole range. What was not measured is null and listed in `meta.unavailable`.
    """
    started = perf_counter()
    cursor = unseal(body.cursor, body.binding(who)) if body.cursor else Cursor(0, who.now)
    who = replace(who, now=cursor.asked_at)
    asked = await resolved(body.date_range, who, log)
    question, attribution = body.question(questions, models, asked, who.workspace)
    page, totals = await _read(who, questions, replace(question, offset=cursor.offset))
    form = Form(question, questions.named(question.metrics), who.workspace.currency)
    before = compared_range(body.compare, question.range)
    return QueryAnswer(
        columns=form.columns(),
        rows=form.arrays(page.rows) if body.format == "compact" else form.records(page.rows),
        totals=form.values(totals),
        comparison=await compared_with(before, page, form, who, questions) if before else None,
        meta=Meta(
            resolved=_resolved(body, question, attribution, who),
            unavailable=not_measured(question.metrics, totals.readings),
            **_following(body, who, cursor, page),
            row_count=len(page.rows),
            complete=await questions.complete(who, question.range, question.metrics),
            data_through=await questions.watermark(who, question.metrics),
            did_you_mean=[] if page.groups else await suggestions(who, questions, question),
            query_ms=round((perf_counter() - started) * 1000),
        ),
    )


async def _read(who: Caller, questions: Questions, question: Question) -> tuple[Table, Row]:
    """The page and the totals; without dimensions and buckets they are one."""
    if not question.dimensions and question.buckets is None and question.offset == 0:
        page = await questions.ask(who, question)
        return page, page.rows[0]
    page, totals = await asyncio.gather(questions.ask(who, question), questions.ask(who, in_total(question)))
    return page, totals.rows[0]


def _following(body: QueryRequest, who: Caller, cursor: Cursor, page: Table) -> dict[str, Any]:
    """Whether rows are left, and the cursor that leads to them."""
    following = Cursor(cursor.offset + len(page.rows), cursor.asked_at)
    is_cut = page.groups > following.offset
    return {"truncated": is_cut, "next_cursor": seal(following, body.binding(who)) if is_cut else None}


def _resolved(
    body: QueryRequest, question: Question, attribution: Attribution | None, who: Caller
) -> Resolved:
    return Resolved(
        date_range=RangeAnswer.of(question.range),
        timezone=who.workspace.timezone,
        interval=question.buckets.unit if question.buckets else None,
        attribution=attribution,
        refund_basis=body.refund_basis,
        currency=who.workspace.currency,
        order_by=[
            OrderBody(field=key.field, direction="desc" if key.descending else "asc")
            for key in question.order
        ],
        limit=body.limit,
    )


OPERATIONS = (post_query,)
