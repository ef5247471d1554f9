"""The golden value of a metric: a story is told, the metric is asked for as an endpoint asks."""

from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.access.model import Workspace
from service_core.access.reader import reader_of
from service_core.insight.attribution.model import Models
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.ports import Credit, Weighting
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.sources import EventSource
from service_core.intake.ports import QueueState
from service_core.kernel.ranges import Range, Span
from service_core.testing.readable import readable_store
from service_core.testing.story import Story

CURRENCY: Final = "USD"
CREDIT: Final = Credit(Weighting.LAST, timedelta(days=30), drop_direct=True)
"""How metrics of credits are asked: by the rule a new workspace follows."""


async def value_of(metric: Metric, story: Story, span: Span, *, zone: str = "UTC") -> float | None:
    """What an answer shows for a metric over a story: rounded, in major units of US dollars.

    Args:
        metric: of any catalog; it need not be installed.
        story: what happened.
        span: the range; it has passed.
        zone: the wall clock of days and of trailing days.
    """
    store = readable_store()
    await store.append(story.events)
    questions = Questions(Catalog({metric.id: metric}), (EventSource(store, store, _UpToDate(), Models()),))
    asked = Range(span, ZoneInfo(zone), span.end)
    question = Question((metric.id,), asked, credit=CREDIT, usual_credit=CREDIT)
    who = reader_of(_workspace(story, asked), asked.now, "Story")
    (row,) = (await questions.ask(who, question)).rows
    return rounded(row.readings[0], metric, CURRENCY)


class _UpToDate:
    """The state of a queue in which nothing waits."""

    async def state(self) -> QueueState:
        """Empty."""
        return QueueState(0, None)


def _workspace(story: Story, asked: Range) -> Workspace:
    return Workspace(
        id=story.workspace_id,
        public_id="story",
        name="Story",
        domain=None,
        timezone=asked.zone.key,
        currency=CURRENCY,
        plan="unlimited",
        active=True,
        created_at=asked.span.start,
        secret=b"story",
    )
