"""A request reads the state of its sources once, so that an answer never mixes moments."""

import asyncio

import pytest

from service_core.analytics.query.shared_snapshot import SharedQueueState
from service_core.analytics.query.sources import EventSource
from service_core.commerce.ads.source import SpendSource
from service_core.commerce.subscriptions.source import SubscriptionSource
from service_core.ingestion.ports import QueueState
from tests.analytics.deployment import run_deployment
from tests.fixtures.state_reads import count_state_reads

DAYS = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
JULY = {"from": "2026-07-01", "to": "2026-07-07"}
HOURS = {"start_date": "2026-07-01T00:00:00Z", "end_date": "2026-07-07T00:00:00Z"}
ALL_SOURCES = ["visitors", "revenue", "ad_spend", "mrr", "profit", "roas"]


@pytest.fixture
async def client(tmp_path):
    async with run_deployment("memory", tmp_path) as deployment:
        yield await deployment.workspace()


@pytest.fixture
def state_reads(monkeypatch):
    """How often the state of each source was read."""
    return count_state_reads(monkeypatch)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/overview", DAYS),
        ("/traffic", DAYS),
        ("/realtime", {}),
        ("/revenue", DAYS),
        ("/commerce-metrics", HOURS),
        ("/subscriptions", DAYS),
        ("/metrics/catalog", {}),
        ("/search", {"q": "an"}),
        ("/dimension-values", {"dimension": "country", "q": "not"}),
    ],
)
async def test_read_reads_the_state_of_each_source_once(client, state_reads, path, parameters):
    await client.get(path, **parameters)
    assert set(state_reads.values()) == {1}


async def test_concurrent_reads_of_the_queue_state_share_one_read():
    class Queue:
        reads = 0

        async def state(self):
            self.reads += 1
            read = QueueState(self.reads, None)
            await asyncio.sleep(0)
            return read

    queue = Queue()
    shared = SharedQueueState(queue)
    states = await asyncio.gather(*(shared.state() for _ in range(5)))
    assert [state.waiting_count for state in states] == [1] * 5
    assert queue.reads == 1


async def test_metrics_with_a_comparison_read_the_state_of_each_source_once(client, state_reads):
    await client.post("/metrics", {"metrics": ALL_SOURCES, "date_range": JULY, "compare": True})
    assert state_reads == {EventSource: 1, SpendSource: 1, SubscriptionSource: 1}


async def test_query_with_totals_comparison_and_suggestions_reads_the_state_of_each_source_once(
    client, state_reads
):
    answer = await client.post(
        "/query",
        {
            "metrics": ["visitors", "revenue"],
            "dimensions": ["new_vs_returning"],
            "filters": [{"dimension": "new_vs_returning", "op": "eq", "value": "nev"}],
            "date_range": JULY,
            "compare": "previous_period",
        },
    )
    assert answer["rows"] == []
    assert state_reads == {EventSource: 1}
