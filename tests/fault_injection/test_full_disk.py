"""F5 at ingest: the disk is full; events are refused, the same ids are taken once there is room, nothing is torn."""

import asyncio
import resource
import sqlite3
from contextlib import closing
from itertools import count

import pytest

from service_core.testing.durability_client import HttpConnection, SentEvents, send_events_until_stopped

CLIENTS = 4


async def post_event(connection, key, event_id):
    body = b'{"event":"purchase","user_id":"u","event_id":"%s"}' % event_id.encode()
    reply = await connection.post("/track", body, {"X-API-Key": key})
    return reply.status, reply.body


async def wait_for_acknowledged(books, number):
    seen = len(books.acknowledged)
    async with asyncio.timeout(100):
        while len(books.acknowledged) < seen + number:
            await asyncio.sleep(0.005)


@pytest.mark.faults
async def test_full_disk_refuses_events_and_accepts_retries_after_recovery(deployment, is_full_run):
    books, stop, numbers = SentEvents(), asyncio.Event(), count()
    async with deployment.ingest() as child:
        senders = [
            asyncio.create_task(
                send_events_until_stopped(
                    books,
                    HttpConnection(child.address),
                    deployment.keys[n],
                    lambda: f"e{next(numbers)}",
                    stop,
                )
            )
            for n in range(CLIENTS)
        ]
        connection = HttpConnection(child.address)
        limit, pid = resource.RLIMIT_FSIZE, child.process.pid
        for _ in range(10 if is_full_run else 2):
            await wait_for_acknowledged(books, 50)
            before = resource.prlimit(pid, limit, (0, resource.RLIM_INFINITY))
            reported = [await post_event(connection, deployment.keys[0], "order_1") for _ in range(3)]
            resource.prlimit(pid, limit, before)
            assert {status for status, _ in reported} == {500}
            assert {body["error"] for _, body in reported} == {"Failed to enqueue event"}
        await wait_for_acknowledged(books, 50)
        stop.set()
        await asyncio.gather(*senders)
        assert (await post_event(connection, deployment.keys[0], "order_1"))[1]["success"]
        connection.close()
    books.sent.add("order_1")
    books.acknowledged.add("order_1")
    assert books.unexpected_replies == []
    assert books.compare_with_stored(await deployment.kept()) == (frozenset(), frozenset(), frozenset())
    with closing(sqlite3.connect(deployment.config.parent / "spool.db")) as spool:
        assert spool.execute("PRAGMA integrity_check").fetchone() == ("ok",)
