"""`GET /realtime`: the last minutes (contract 3.4, semantics 6.7)."""

from datetime import datetime, timedelta
from typing import Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.answers import counts, shown
from service_core.insight.fx.rated import Rated
from service_core.insight.ports import EventLog, LiveVisitor
from service_core.insight.query.question import Order, Question
from service_core.insight.query.questions import Questions
from service_core.insight.scans import scan_of
from service_core.kernel.money import to_major
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, QueryModel
from service_core.kernel.ranges import Range, Span, Unit
from service_core.kernel.series import cover
from service_core.kernel.together import together

WINDOW_MINUTES: Final = 5
TIMELINE_MINUTES: Final = 30
MOST_VISITORS: Final = 50
_METRICS: Final = ("visitors", "pageviews", "events", "revenue")
_FROM_EVENT: Final = (
    "visitor_id", "user_id", "session_id", "page_path", "page_title", "referrer", "attribution_source",
    "channel", "country", "region", "city", "device_type", "browser", "os",
)  # fmt: skip


class RealtimeQuery(QueryModel):
    """Parameters of `GET /realtime`."""

    include_bots: bool = Field(default=False, description="Count events of bots, too.")


class RealtimeVisitor(Answer):
    """Somebody who is there: what the latest event says, and totals of the last 5 minutes."""

    visitor_id: str
    user_id: str | None
    session_id: str
    page_path: str | None
    page_title: str | None
    referrer: str | None
    attribution_source: str | None
    channel: str | None
    country: str | None
    region: str | None
    city: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    pageviews: int
    events: int
    revenue: float | None
    first_seen: datetime
    last_seen: datetime


class RealtimeBucket(Answer):
    """One minute."""

    timestamp: datetime
    visitors: int
    pageviews: int
    events: int
    revenue: float | None


class Realtime(Answer):
    """The last 5 minutes in ``active_visitors`` and ``visitors``, the last 30 in all else."""

    active_visitors: int
    pageviews: int
    events: int
    revenue: float | None
    visitors: list[RealtimeVisitor]
    timeline: list[RealtimeBucket]
    currency: str
    window_minutes: int
    timeline_minutes: int
    complete: bool


@operation("GET /realtime", tag="traffic")
async def get_realtime(
    query: RealtimeQuery, *, who: Caller, questions: Questions, log: EventLog, rated: Rated
) -> Realtime:
    """Who is there now, and what happened in the last half hour, minute by minute."""
    now, bots = who.now, query.include_bots
    recent = Range(Span(now - timedelta(minutes=WINDOW_MINUTES), now + _NOW), who.workspace.zone, now)
    half_hour = _half_hour(who)
    active, totals, timeline, live = await together(
        questions.ask(who, Question(("visitors",), recent, include_bots=bots)),
        questions.ask(who, Question(_METRICS, half_hour, include_bots=bots)),
        questions.ask(who, _by_minute(half_hour, include_bots=bots)),
        rated.ask(
            scan_of(who, recent.span, include_bots=bots),
            lambda scan: log.live(scan, recent.span.start, MOST_VISITORS),
            lambda visitors: any(visitor.revenue is None for visitor in visitors),
        ),
    )
    metrics, currency = questions.named(_METRICS), who.workspace.currency
    _, pageviews, events, _ = counts(totals.rows[0])
    return Realtime(
        active_visitors=counts(active.rows[0])[0],
        pageviews=pageviews,
        events=events,
        revenue=shown(totals.rows[0], metrics, currency)[-1],
        visitors=[_visitor(visitor, currency) for visitor in live],
        timeline=[
            RealtimeBucket(
                timestamp=row.bucket, visitors=counts(row)[0], pageviews=counts(row)[1],
                events=counts(row)[2], revenue=shown(row, metrics, currency)[-1],
            )
            for row in timeline.rows if row.bucket
        ],
        currency=currency,
        window_minutes=WINDOW_MINUTES,
        timeline_minutes=TIMELINE_MINUTES,
        complete=await questions.complete(who, half_hour, _METRICS),
    )  # fmt: skip


_NOW: Final = timedelta.resolution
"""An event of this very instant is there, too."""


def _half_hour(who: Caller) -> Range:
    """The present minute and the 29 before it."""
    end = who.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return Range(Span(end - timedelta(minutes=TIMELINE_MINUTES), end), who.workspace.zone, who.now)


def _by_minute(asked: Range, *, include_bots: bool) -> Question:
    minutes = cover(asked.span, Unit.MINUTE, asked.zone)
    by_time = Order("bucket", descending=False)
    return Question(_METRICS, asked, buckets=minutes, order=(by_time,), include_bots=include_bots)


def _visitor(live: LiveVisitor, currency: str) -> RealtimeVisitor:
    return RealtimeVisitor(
        **{column: getattr(live.latest, column) for column in _FROM_EVENT},
        pageviews=live.pageviews,
        events=live.events,
        revenue=None if live.revenue is None else float(to_major(live.revenue, currency)),
        first_seen=live.first_seen,
        last_seen=live.last_seen,
    )


OPERATIONS = (get_realtime,)
