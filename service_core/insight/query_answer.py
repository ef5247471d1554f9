"""The answer of `POST /query`: columns, rows, totals, comparison and meta (contract 4.3)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.answers import shown
from service_core.insight.attribution.model import Attribution
from service_core.insight.catalog import Metric, MetricUnit
from service_core.insight.measures import Op
from service_core.insight.metric_values import UnavailableMetric
from service_core.insight.query.question import BUCKET, Filter, Question, Row, Table
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import RefundBasis
from service_core.insight.suggestions import Suggestion
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.params import Answer, BodyModel
from service_core.kernel.ranges import Range
from service_core.kernel.series import cover


class OrderBody(BodyModel):
    """One sort key."""

    field: str = Field(description="A metric, a dimension or `bucket`.")
    direction: Literal["asc", "desc"] = "desc"


class Column(Answer):
    """A column of the answer, in order."""

    id: str
    kind: Literal["bucket", "dimension", "metric"]


class MetricColumn(Column):
    """A column of values."""

    unit: MetricUnit


class Resolved(Answer):
    """What ran, defaults filled in."""

    date_range: RangeAnswer
    timezone: str
    interval: Literal["hour", "day", "week", "month", "quarter"] | None
    attribution: Attribution | None
    refund_basis: RefundBasis
    currency: str
    order_by: list[OrderBody]
    limit: int


class Meta(Answer):
    """About the answer: what ran, what is missing, and where it goes on."""

    resolved: Resolved
    unavailable: list[UnavailableMetric]
    truncated: bool = Field(description="Rows stop at `limit`; go on with `next_cursor`.")
    next_cursor: str | None
    row_count: int
    complete: bool
    data_through: datetime
    did_you_mean: list[Suggestion]
    query_ms: int


class Comparison(Answer):
    """The compared range: rows of the dimension keys on this page, and totals."""

    range: RangeAnswer
    rows: list[dict[str, Any]]
    totals: dict[str, float | int | None]


class QueryAnswer(Answer):
    """Rows by the dimensions and buckets asked for, and totals over the whole range."""

    columns: list[MetricColumn | Column]
    rows: list[dict[str, Any]] | list[list[Any]]
    totals: dict[str, float | int | None]
    comparison: Comparison | None
    meta: Meta


@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of a question are written."""

    question: Question
    metrics: tuple[Metric, ...]
    currency: str

    def columns(self) -> list[MetricColumn | Column]:
        """The columns in order: bucket, dimensions, metrics."""
        bucket = [Column(id=BUCKET, kind="bucket")] if self.question.buckets else []
        dimensions = [Column(id=id_, kind="dimension") for id_ in self.question.dimensions]
        metrics = [MetricColumn(id=metric.id, kind="metric", unit=metric.unit) for metric in self.metrics]
        return [*bucket, *dimensions, *metrics]

    def records(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Rows as objects, in the order of the columns."""
        return [
            ({BUCKET: row.bucket} if row.bucket else {})
            | dict(zip(self.question.dimensions, row.labels, strict=True))
            | self.values(row)
            for row in rows
        ]

    def arrays(self, rows: Iterable[Row]) -> list[list[Any]]:
        """Rows as arrays, in the order of the columns."""
        return [list(record.values()) for record in self.records(rows)]

    def values(self, row: Row) -> dict[str, float | int | None]:
        """Metric values of a row."""
        return dict(zip(self.question.metrics, shown(row, self.metrics, self.currency), strict=True))


def in_total(question: Question) -> Question:
    """The same question over the whole range: totals are asked for, never added up."""
    return replace(question, dimensions=(), buckets=None, order=(), limit=None, offset=0)


async def compared_with(
    before: Range, page: Table, form: Form, who: Caller, questions: Questions
) -> Comparison:
    """The page's keys in the compared range; buckets are matched by their position."""
    question = form.question
    there = replace(question, range=before, order=(), limit=None, offset=0, filters=_of_page(question, page))
    if question.buckets:
        there = replace(there, buckets=cover(before.span, question.buckets.unit, before.zone))
    rows = {(row.bucket, row.labels): row for row in (await questions.ask(who, there)).rows}
    totals = await questions.ask(who, in_total(replace(question, range=before)))
    nothing = await questions.nothing(who, question)
    records = []
    for row in page.rows:
        bucket = _counterpart(row.bucket, question, there)
        if row.bucket is not None and bucket is None:
            continue
        found = rows.get((bucket, row.labels)) or Row(bucket, row.labels, nothing)
        record = form.records([found])[0]
        records.append(
            record if row.bucket is None else {BUCKET: bucket, "aligned_bucket": row.bucket} | record
        )
    return Comparison(range=RangeAnswer.of(before), rows=records, totals=form.values(totals.rows[0]))


def _of_page(question: Question, page: Table) -> tuple[Filter, ...]:
    """The question's filters, narrowed to the keys of the page."""
    labels = zip(*(row.labels for row in page.rows), strict=True)
    keys = (tuple(sorted(set(of_one))) for of_one in labels)
    narrowed = (Filter(id_, Op.IN, values) for id_, values in zip(question.dimensions, keys, strict=False))
    return (*question.filters, *narrowed)


def _counterpart(bucket: datetime | None, question: Question, there: Question) -> datetime | None:
    if bucket is None or question.buckets is None or there.buckets is None:
        return None
    position = question.buckets.starts.index(bucket)
    return there.buckets.starts[position] if position < len(there.buckets.starts) else None
