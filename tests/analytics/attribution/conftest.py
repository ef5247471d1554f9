"""`GET /attribution` of a caller on the memory store."""

import pytest

from plugins.attribution_models.models import MODELS
from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution_reads.operations import AttributionQuery, get_attribution
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.kernel.request_parsing import parse_query_parameters_leniently
from service_core.testing.event_builder import EventBuilder

JULY = {"start_date": "2026-07-01T00:00Z", "end_date": "2026-07-07T23:59Z"}


@pytest.fixture
def event_builder(caller):
    return EventBuilder(caller.workspace.id)


@pytest.fixture
def get_attribution_report(caller, queue, event_builder):
    async def get_attribution_report(floor=300, **parameters):
        store = MemoryEventStore()
        await store.append(event_builder.events)
        return await get_attribution(
            parse_query_parameters_leniently(AttributionQuery, (JULY | parameters).items()),
            caller=caller,
            aggregate_reader=store,
            path_reader=store,
            models=AttributionModels(AttributionModels.index_by_unique_id(MODELS).by_id, floor),
            freshness=EventFreshness(queue),
            queries=MetricQueries(Catalog(), ()),
        )

    return get_attribution_report
