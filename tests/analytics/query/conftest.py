"""Metric queries over a small week of events."""

from collections.abc import Mapping
from types import SimpleNamespace

import orjson
import pytest

from hosts.composition.compose import load_installed_registry_once
from plugins.attribution_models.models import MODELS
from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.sources import EventSource
from service_core.analytics.reads.metric_values import MetricsRequest, post_metrics
from service_core.analytics.reads.query.operations import QueryRequest, post_query
from service_core.api.render import json_default
from service_core.commerce.ads.ad_credits import UtmMatchedAdCredits
from service_core.commerce.ads.measured_platforms import MeasuredPlatforms
from service_core.commerce.ads.ports import AdPlatforms
from service_core.kernel.request_parsing import parse_body_strictly
from service_core.testing.event_builder import EventBuilder
from service_core.testing.memory.ad_spend import MemoryAdSpend
from service_core.testing.memory.connections import MemoryConnections
from tests.analytics.golden_week import add_week_of_visits


@pytest.fixture
def story(caller):
    return add_week_of_visits(EventBuilder(caller.workspace.id))


@pytest.fixture(params=["memory", "duckdb"])
async def store(request, tmp_path):
    """The reference, and the embedded engine: a metric has one value on every store."""
    if request.param == "memory":
        yield MemoryEventStore()
        return
    store = load_installed_registry_once().open_adapter(
        "events", "duckdb:///events.db?threads=1&timeout_seconds=300", base_folder=tmp_path
    )
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture
async def query_client(caller, queue, story, store):
    """The operations over the story; what is appended to ``store`` later is seen, too."""
    await store.append(story.events)
    models = AttributionModels.index_by_unique_id(MODELS)
    ads = MeasuredPlatforms(MemoryAdSpend(), AdPlatforms({}), MemoryConnections(), InstalledProviders())
    credited = UtmMatchedAdCredits(store, ads)
    queries = MetricQueries(
        Catalog.from_validated_definitions(CORE_METRICS, CORE_DIMENSIONS),
        (EventSource(credited, credited, queue, models),),
    )

    async def query(plan: Mapping[str, object], *, caller=caller):
        body = parse_body_strictly(QueryRequest, orjson.dumps(WEEK | dict(plan)), WEEK | dict(plan))
        return json_default(
            await post_query(body, caller=caller, queries=queries, models=models, event_reader=store)
        )

    async def metrics(request: Mapping[str, object]):
        body = parse_body_strictly(MetricsRequest, orjson.dumps(request), dict(request))
        return json_default(
            await post_metrics(body, caller=caller, queries=queries, models=models, event_reader=store)
        )

    return SimpleNamespace(
        query=query, metrics=metrics, queries=queries, store=store, caller=caller, story=story
    )


WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
