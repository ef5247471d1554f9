"""F12 and F13: one id at once from everywhere, and the edge of the seven days."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.ingestion.ports import EnqueueResult
from service_core.testing.durability_client import HttpConnection

BODY = b'{"event":"purchase","user_id":"u","event_id":"order_1"}'


@pytest.mark.faults
async def test_one_id_sent_1000_times_to_two_processes_is_one_event_per_workspace(deployment, is_full_run):
    times, keys = (500 if is_full_run else 150), deployment.keys[:2]
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(deployment.ingest()) for _ in range(4 if is_full_run else 2)]

        async def send(number: int):
            connection = HttpConnection(hosts[number % len(hosts)].address)
            key = keys[number // len(hosts) % 2]
            try:
                reply = await connection.post("/track", BODY, {"X-API-Key": key})
            finally:
                connection.close()
            return key, reply.status, reply.body["success"]

        answers = await asyncio.gather(*(send(n) for n in range(times * 2)))
    assert {status for _, status, _ in answers} == {200}
    assert [sum(success for k, _, success in answers if k == key) for key in keys] == [1, 1]
    assert await deployment.kept() == ["order_1", "order_1"]


async def test_deduplication_window_is_seven_days(deployment):
    start = datetime(2026, 3, 5, 12, tzinfo=UTC)
    answers = []
    async with deployment.spool() as queue:
        for later in (
            timedelta(0), timedelta(days=6, hours=23, minutes=59, seconds=59), timedelta(days=7, seconds=1),
            timedelta(days=8), timedelta(hours=-1),
        ):  # fmt: skip
            arrival = ReceivedEvent(
                deployment.workspaces[0].id, deployment.workspaces[0].id, IngestEndpoint.TRACK, "order_1", True,
                start + later, BODY, None, None, {},
            )  # fmt: skip
            answers.append(await queue.offer(arrival))
    assert answers == [
        EnqueueResult.QUEUED,
        EnqueueResult.DUPLICATE,
        EnqueueResult.QUEUED,
        EnqueueResult.DUPLICATE,
        EnqueueResult.DUPLICATE,
    ]
