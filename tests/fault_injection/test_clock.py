"""F14: the clock of the server is set back an hour while it serves: nobody is locked out, no age is negative."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from service_core.api.http_messages import ApiRequest
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.ingestion.ports import EnqueueResult
from service_core.ingestion.track import INGEST_RATE_LIMIT, SenderRateLimit
from tests.workspace.conftest import NOW, WorkspaceApi

HOUR = timedelta(hours=1)


@pytest.fixture
async def workspace_api(tmp_path):
    made = WorkspaceApi(tmp_path)
    async with made.service:
        yield await made.open()


async def test_exhausted_quota_does_not_block_when_the_clock_goes_back(workspace_api):
    windows = workspace_api.service.ports.limits
    spent = [(await windows.consume("key", 3, 60)).allowed for _ in range(4)]
    workspace_api.now -= HOUR
    assert (spent, (await windows.consume("key", 3, 60)).allowed) == ([True] * 3 + [False], True)
    ingest, key = SenderRateLimit(), uuid4()
    assert [ingest.count_events_unless_second_is_full(key, NOW) for _ in range(INGEST_RATE_LIMIT + 1)].count(
        True
    ) == INGEST_RATE_LIMIT
    assert ingest.count_events_unless_second_is_full(key, NOW - HOUR)


async def test_event_received_in_the_future_has_no_negative_age_and_stays_a_duplicate(workspace_api):
    shop, queue = workspace_api.workspaces["shop"], workspace_api.service.ports.queue

    async def offered():
        arrival = ReceivedEvent(
            shop.id,
            shop.id,
            IngestEndpoint.TRACK,
            "order_1",
            True,
            workspace_api.now,
            b'{"event":"a"}',
            None,
            None,
            {},
        )
        return await queue.offer(arrival)

    assert await offered() is EnqueueResult.QUEUED
    workspace_api.now -= HOUR
    assert await offered() is EnqueueResult.DUPLICATE
    ready = await workspace_api.service.dispatch(ApiRequest("GET", "/ready", "", {}, b""))
    assert json.loads(ready.body)["queue_age_seconds"] == 0
    answer = (await workspace_api.ask("GET", "/ledger?start_date=2026-07-08&end_date=2026-07-08")).json
    assert (answer["balanced"], answer["totals"]["in_flight"], answer["totals"]["duplicate"]) == (True, 1, 1)


async def test_writes_are_executed_once_and_logged_in_order_when_the_clock_goes_back(workspace_api):
    body = {"link": {"name": "Reel", "destination_url": "https://example.com/a"}}
    first = await workspace_api.ask("POST", "/links", body, once="k")
    workspace_api.now -= HOUR
    again = await workspace_api.ask("POST", "/links", body, once="k")
    assert (again.bytes, again.headers["Idempotent-Replay"]) == (first.bytes, "true")
    gone = await workspace_api.ask("DELETE", f"/links/{first.json['data']['id']}")
    undone = await workspace_api.ask("POST", f"/audit/{gone.json['audit_id']}/undo")
    assert undone.status == 200
    entries = (await workspace_api.ask("GET", "/audit")).json["entries"]
    assert sorted(entries, key=lambda entry: entry["created_at"], reverse=True) == entries
    assert len(await workspace_api.links()) == 1
