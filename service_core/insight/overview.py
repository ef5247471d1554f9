"""`GET /overview`: totals and a time series (contract 3.1)."""

from datetime import datetime
from typing import Final, Literal

from pydantic import AliasChoices, Field

from service_core.access.model import Caller
from service_core.insight.answers import counts
from service_core.insight.measures import Op
from service_core.insight.query.question import Filter, Order, Question, Table
from service_core.insight.query.questions import Questions
from service_core.insight.range_query import RangeQuery
from service_core.intake.model import PAGE_VIEWS
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.ranges import Buckets, Range, Unit
from service_core.kernel.series import auto_unit, elapsed, partial, series
from service_core.kernel.together import together

_METRICS: Final = ("visitors", "pageviews", "sessions", "custom_events")
_DISTINCT: Final = ("visitors", "sessions")
"""Those whose total is not the sum of the series."""

_SIZES: Final = (Unit.HOUR, Unit.DAY, Unit.WEEK, Unit.MONTH)


class OverviewQuery(RangeQuery):
    """Parameters of `GET /overview`."""

    aggregation: Literal["auto", "hour", "day", "week", "month"] = Field(
        default="auto",
        validation_alias=AliasChoices("aggregation", "interval", "granularity"),
        description="Bucket size; `auto` suits the range.",
    )

    def buckets(self, asked: Range) -> Buckets:
        """The series to show."""
        unit = auto_unit(asked) if self.aggregation == "auto" else Unit(self.aggregation)
        return elapsed(series(asked, unit, _SIZES), asked.now)


class OverviewBucket(Answer):
    """One bucket; distinct counts of buckets need not add up to the totals."""

    timestamp: datetime
    visitors: int
    pageviews: int
    sessions: int
    custom_events: int
    partial: bool = Field(description="Cut by the range, or not over yet.")


class Overview(Answer):
    """Totals and a time series for a range."""

    visitors_total: int
    pageviews_total: int
    sessions_total: int
    custom_events_total: int
    custom_event_counts: dict[str, int]
    time_series: list[OverviewBucket]
    complete: bool
    aggregation_level: Literal["hour", "day", "week", "month"] = Field(
        description="The size used, never `auto`."
    )
    timezone: str
    range: RangeAnswer


@operation("GET /overview", tag="traffic")
async def get_overview(query: OverviewQuery, *, who: Caller, questions: Questions) -> Overview:
    """Totals and a time series for a range.

    Counts visitors, page views, sessions and custom events, and each custom event by its name.
    """
    asked = query.asked(who)
    buckets = query.buckets(asked)
    distinct, over_time, by_name = await together(
        questions.ask(who, Question(_DISTINCT, asked, include_bots=query.include_bots)),
        questions.ask(
            who, Question(_METRICS, asked, buckets=buckets, order=_BY_TIME, include_bots=query.include_bots)
        ),
        questions.ask(who, _custom_events(asked, include_bots=query.include_bots)),
    )
    visitors, sessions = counts(distinct.rows[0])
    series = _series(over_time, buckets, asked)
    return Overview(
        visitors_total=visitors,
        pageviews_total=sum(bucket.pageviews for bucket in series),
        sessions_total=sessions,
        custom_events_total=sum(bucket.custom_events for bucket in series),
        custom_event_counts={row.labels[0]: counts(row)[0] for row in by_name.rows},
        time_series=series,
        complete=await questions.complete(who, asked, _METRICS),
        aggregation_level=buckets.unit.value,
        timezone=asked.zone.key,
        range=RangeAnswer.of(asked),
    )


_BY_TIME: Final = (Order("bucket", descending=False),)


def _custom_events(asked: Range, *, include_bots: bool) -> Question:
    return Question(
        ("custom_events",),
        asked,
        dimensions=("event_name",),
        filters=(Filter("event_name", Op.NOT_IN, tuple(sorted(PAGE_VIEWS))),),
        order=(Order("custom_events"), Order("event_name", descending=False)),
        include_bots=include_bots,
    )


def _series(table: Table, buckets: Buckets, asked: Range) -> list[OverviewBucket]:
    return [
        OverviewBucket(
            timestamp=start, visitors=visitors, pageviews=pageviews, sessions=sessions,
            custom_events=custom_events, partial=cut,
        )
        for row, start, cut in zip(table.rows, buckets.starts, partial(buckets, asked), strict=True)
        for visitors, pageviews, sessions, custom_events in (counts(row),)
    ]  # fmt: skip


OPERATIONS = (get_overview,)
