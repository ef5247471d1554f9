"""Questions to a small shop, asked through the operations."""

from collections.abc import Mapping
from types import SimpleNamespace

import orjson
import pytest

from hosts.composition.compose import installed
from plugins.attribution_models.catalog import MODELS
from plugins.events_memory.adapter import MemoryEvents
from service_core.commerce.ads.credited import AdCredits
from service_core.gateway.render import plain
from service_core.insight.analytics_query import QueryRequest, post_query
from service_core.insight.attribution.model import Models
from service_core.insight.catalog import Catalog
from service_core.insight.dimensions import DIMENSIONS
from service_core.insight.metric_values import MetricsRequest, post_metrics
from service_core.insight.metrics import METRICS
from service_core.insight.query.questions import Questions
from service_core.insight.query.sources import EventSource
from service_core.kernel.params import body_of
from service_core.testing.ad_spend import MemorySpend
from service_core.testing.story import Story, campaign


@pytest.fixture
def story(who):
    """The first week of July: V1 buys through Google, V2 signs up through Facebook, V3 only looks."""
    story = Story(who.workspace.id)
    google, facebook = campaign("google", "cpc", "spring"), campaign("facebook", "paid_social", "reels")
    story.happens("page_view", at="2026-07-01T15:00:00", visitor="V1", session="s1", page_path="/", **google)
    story.happens("add_to_cart", at="2026-07-01T15:00:05", visitor="V1", session="s1", page_path="/shop")
    story.happens(
        "purchase",
        at="2026-07-01T15:02:00",
        visitor="V1",
        session="s1",
        revenue=12050,
        order_id="1",
        strong_id="u1",
    )
    story.happens(
        "page_view", at="2026-07-02T15:00:00", visitor="V2", session="s2", page_path="/", **facebook
    )
    story.happens("signup", at="2026-07-02T15:00:02", visitor="V2", session="s2", page_path="/join")
    story.happens("page_view", at="2026-07-02T16:00:00", visitor="V3", session="s3", page_path="/")
    story.happens("page_view", at="2026-07-05T16:00:00", visitor="V3", session="s4", page_path="/")
    story.happens("refund", at="2026-07-06T16:00:00", visitor="V1", session="s5", revenue=-2050, order_id="1")
    return story


@pytest.fixture(params=["memory", "duckdb"])
async def store(request, tmp_path):
    """The reference, and the embedded engine: a metric has one value on every store."""
    if request.param == "memory":
        yield MemoryEvents()
        return
    store = installed().open("events", "duckdb:///events.db?threads=1&timeout_seconds=300", folder=tmp_path)
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture
async def shop(who, queue, story, store):
    """The operations over the story; what is appended to ``store`` later is seen, too."""
    await store.append(story.events)
    models = Models.of(MODELS)
    credited = AdCredits(store, MemorySpend())
    questions = Questions(Catalog.of(METRICS, DIMENSIONS), (EventSource(credited, credited, queue, models),))

    async def query(plan: Mapping[str, object], *, caller=who):
        body = body_of(QueryRequest, orjson.dumps(WEEK | dict(plan)), WEEK | dict(plan))
        return plain(await post_query(body, who=caller, questions=questions, models=models, log=store))

    async def metrics(request: Mapping[str, object]):
        body = body_of(MetricsRequest, orjson.dumps(request), dict(request))
        return plain(await post_metrics(body, who=who, questions=questions, models=models, log=store))

    return SimpleNamespace(
        query=query, metrics=metrics, questions=questions, store=store, who=who, story=story
    )


WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
