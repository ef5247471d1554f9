"""`POST /metrics`: catalog metrics over one range, compared (contract 4.1)."""

from dataclasses import replace
from fractions import Fraction
from typing import Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.catalog import Metric, MetricUnit
from service_core.insight.ports import EventLog
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import Compare, MetricsBody, RefundBasis
from service_core.insight.rounding import decimal
from service_core.kernel.comparison import Comparison, compared
from service_core.kernel.date_range import DateRange, RangeAnswer, between
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Measured, Reading, Reason, Unavailable
from service_core.kernel.together import together

_MOST_METRICS: Final = 50
_DECIMALS: Final = 6
_POINTS: Final = 100


class MetricsRequest(MetricsBody):
    """Body of `POST /metrics`; one range is required."""

    start_date: str | None = None
    end_date: str | None = None
    date_range: DateRange | None = None
    compare: Compare = Field(default=False, description="`true`, a way to compare, or an explicit range.")

    async def asked(self, who: Caller, log: EventLog) -> Range:
        """The range of either form.

        Raises:
            BadRequest: no range, both forms, or one that does not parse.
        """
        if self.date_range is None:
            return between(self.start_date, self.end_date, who.workspace.zone, who.now)
        if self.start_date or self.end_date:
            raise BadRequest("Send either start_date and end_date, or date_range", "invalid_date_range")
        return await resolved(self.date_range, who, log)


class UnavailableMetric(Answer):
    """A metric that was not measured, and why; never zero."""

    metric: str
    reason: Reason


class MetricValue(Answer):
    """One metric: its value, and how it changed."""

    id: str
    value: float | int | None
    previous_value: float | int | None
    change: float | None
    change_unit: str
    unit: MetricUnit
    available: bool
    unavailable_reason: Reason | None


class MetricValues(Answer):
    """Metrics in the order asked, one for each id, a repeated one too."""

    metrics: list[MetricValue]
    range: RangeAnswer
    previous_range: RangeAnswer | None
    attribution: Attribution | None
    refund_basis: RefundBasis
    currency: str
    unavailable: list[UnavailableMetric]
    complete: bool


@operation("POST /metrics", tag="query")
async def post_metrics(
    body: MetricsRequest, *, who: Caller, questions: Questions, models: Models, log: EventLog
) -> MetricValues:
    """Up to 50 metrics over one range, with the change from a compared one.

    A metric that was not measured is null and listed in `unavailable`, never zero.
    """
    ids = body.metric_ids(questions.catalog, _MOST_METRICS)
    asked = await body.asked(who, log)
    before = await compared_range(body.compare, asked, who, log)
    given = body.credits(questions.catalog, models, ids, who.workspace)
    question = Question(
        ids,
        asked,
        filters=body.checked_filters(questions.catalog, ids),
        credit=given.asked,
        usual_credit=given.usual,
        order_refunds=body.refund_basis == "order",
        include_bots=body.include_bots,
    )
    now, then = await together(_readings(who, questions, question), _before(who, questions, question, before))
    values = {
        metric.id: metric_value(metric, reading, previous, who.workspace.currency)
        for metric, reading, previous in zip(questions.named(ids), now, then, strict=True)
    }
    return MetricValues(
        metrics=[values[id_] for id_ in body.metrics],
        range=RangeAnswer.of(asked),
        previous_range=RangeAnswer.of(before) if before else None,
        attribution=given.attribution,
        refund_basis=body.refund_basis,
        currency=who.workspace.currency,
        unavailable=not_measured(ids, now),
        complete=await questions.complete(who, asked, ids, question.held),
    )


async def resolved(sent: DateRange, who: Caller, log: EventLog, field: str = "date_range") -> Range:
    """A date range in the caller's zone; the store is asked for its first event only for ``all_time``."""
    bounds = await log.bounds(who.workspace.id) if sent.is_all_time else None
    return sent.resolve(who.workspace.zone, who.now, bounds[0] if bounds else None, field=field)


async def compared_range(compare: Compare, asked: Range, who: Caller, log: EventLog) -> Range | None:
    """The range to compare with, if any."""
    if not compare:
        return None
    if isinstance(compare, DateRange):
        return await resolved(compare, who, log, "compare")
    return compared(asked, Comparison.PREVIOUS_PERIOD if compare is True else Comparison(compare))


async def _readings(who: Caller, questions: Questions, question: Question) -> tuple[Reading, ...]:
    return (await questions.ask(who, question)).rows[0].readings


async def _before(
    who: Caller, questions: Questions, question: Question, before: Range | None
) -> tuple[Reading, ...]:
    if before is None:
        return tuple(Measured(None) for _ in question.metrics)
    return await _readings(who, questions, replace(question, range=before))


def not_measured(ids: tuple[str, ...], readings: tuple[Reading, ...]) -> list[UnavailableMetric]:
    """The metrics among the readings that were not measured."""
    return [
        UnavailableMetric(metric=id_, reason=reading.reason)
        for id_, reading in zip(ids, readings, strict=True)
        if isinstance(reading, Unavailable)
    ]


def metric_value(metric: Metric, reading: Reading, previous: Reading, currency: str) -> MetricValue:
    """A metric's value beside the one it is compared with."""
    reason = reading.reason if isinstance(reading, Unavailable) else None
    return MetricValue(
        id=metric.id,
        value=rounded(reading, metric, currency),
        previous_value=rounded(previous, metric, currency),
        change=_change(metric, reading, previous),
        change_unit=metric.change_unit,
        unit=metric.unit,
        available=reason is None,
        unavailable_reason=reason,
    )


def _change(metric: Metric, reading: Reading, previous: Reading) -> float | None:
    """Relative, or in percentage points for a rate; None without anything to compare with."""
    if isinstance(reading, Unavailable) or isinstance(previous, Unavailable):
        return None
    if reading.value is None or previous.value is None:
        return None
    difference = Fraction(reading.value) - previous.value
    if metric.bounded:
        return float(decimal(difference * _POINTS, _DECIMALS))
    return float(decimal(difference / previous.value, _DECIMALS)) if previous.value else None


OPERATIONS = (post_metrics,)
