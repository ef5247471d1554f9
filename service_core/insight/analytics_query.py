"""`POST /query`: metrics by dimensions over time (contract 4.3)."""

from dataclasses import replace
from time import perf_counter
from typing import Any

from service_core.access.model import Caller
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.metric_values import compared_range, not_measured, resolved
from service_core.insight.ports import EventLog
from service_core.insight.query.question import Question, Row, Table
from service_core.insight.query.questions import Questions
from service_core.insight.query_answer import (
    Form,
    Meta,
    OrderBody,
    QueryAnswer,
    Resolved,
    compared_with,
    in_total,
)
from service_core.insight.query_plan import QueryRequest
from service_core.insight.suggestions import suggestions
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.paging import Cursor, seal, unseal
from service_core.kernel.reading import Measured
from service_core.kernel.together import together


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
    before = await compared_range(body.compare, asked, who, log)
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
            complete=await questions.complete(who, question.range, question.metrics, question.held),
            data_through=await questions.watermark(who, question.metrics, question.held),
            did_you_mean=await suggestions(who, questions, question) if _is_empty(page, totals) else [],
            query_ms=round((perf_counter() - started) * 1000),
        ),
    )


async def _read(who: Caller, questions: Questions, question: Question) -> tuple[Table, Row]:
    """The page and the totals; without dimensions and buckets they are one."""
    if not question.dimensions and question.buckets is None and question.offset == 0:
        page = await questions.ask(who, question)
        return page, page.rows[0]
    page, totals = await together(questions.ask(who, question), questions.ask(who, in_total(question)))
    return page, totals.rows[0]


def _is_empty(page: Table, totals: Row) -> bool:
    """Whether nothing was found: without dimensions the row and every bucket are there all the same."""
    return not page.groups or not any(isinstance(each, Measured) and each.value for each in totals.readings)


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
        interval=question.buckets.unit.value if question.buckets else None,
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
