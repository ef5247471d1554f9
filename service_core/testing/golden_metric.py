"""The golden value of a metric: a story is told, the metric is asked for as an endpoint asks."""

from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.access.internal_callers import read_only_caller
from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.ports import CreditRule, Weighting
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import round_for_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import EventSource
from service_core.ingestion.ports import QueueState
from service_core.kernel.time_ranges import ResolvedRange, TimeRange
from service_core.testing.event_builder import EventBuilder
from service_core.testing.reference_store import reference_event_store

CURRENCY: Final = "USD"
CREDIT: Final = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)
"""How metrics of credits are asked: by the rule a new workspace follows."""


async def metric_value(
    metric: Metric, events: EventBuilder, span: TimeRange, *, zone: str = "UTC"
) -> float | None:
    """What an answer shows for a metric over a story: rounded, in major units of US dollars.

    Args:
        metric: of any catalog; it need not be installed.
        events: what happened.
        span: the range; it has passed.
        zone: the wall clock of days and of trailing days.
    """
    store = reference_event_store()
    await store.append(events.events)
    questions = MetricQueries(
        Catalog({metric.id: metric}), (EventSource(store, store, _EmptyQueue(), AttributionModels()),)
    )
    asked = ResolvedRange(span, ZoneInfo(zone), span.end)
    question = MetricQuery((metric.id,), asked, credit_rule=CREDIT, default_credit_rule=CREDIT)
    who = read_only_caller(_workspace(events, asked), asked.now, "Story")
    snapshot = await questions.read_snapshot(who, question.metrics)
    (row,) = (await questions.execute(who, question, snapshot)).rows
    return round_for_unit(row.values[0], metric, CURRENCY)


class _EmptyQueue:
    """The state of a queue in which nothing waits."""

    async def state(self) -> QueueState:
        """Empty."""
        return QueueState(0, None)


def _workspace(story: EventBuilder, date_range: ResolvedRange) -> Workspace:
    return Workspace(
        id=story.workspace_id,
        public_id="story",
        name="Story",
        domain=None,
        timezone=date_range.zone.key,
        currency=CURRENCY,
        plan="unlimited",
        active=True,
        created_at=date_range.span.start,
        secret=b"story",
    )
