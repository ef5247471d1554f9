"""F1: the ingest host is killed under load, and every acknowledged event is there, once."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from hosts.ingest.ingest_process import IngestProcess
from service_core.testing.durability_client import (
    HttpConnection,
    SentEvents,
    send_batches_until_stopped,
    send_events_until_stopped,
)
from service_core.testing.reserved_port import reserve_loopback_port
from tests.fixtures.waiting import wait_until

CLIENTS = 12
"""Besides a browser of each workspace."""
BETWEEN_KILLS = 150
"""Acknowledged events before the next kill."""

READY_SECONDS = 3
"""Ready again after a kill. It is work and no waiting, so it is counted as the processor does: others may be busy.

A slow machine may take twice what it took for the first start.
"""


def cpu_seconds(pid):
    """Seconds that a process has had a processor."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.faults
@pytest.mark.timeout(450)
async def test_kill_loses_and_duplicates_no_acknowledged_event(deployment, is_full_run):
    books, stop, numbers = SentEvents(), asyncio.Event(), count()
    child = await IngestProcess.start_and_wait_until_listening(
        deployment.config, listen=f"127.0.0.1:{reserve_loopback_port(deployment)}"
    )
    senders = [
        asyncio.create_task(
            send_events_until_stopped(
                books,
                HttpConnection(child.address),
                deployment.keys[n % 4],
                lambda: f"e{next(numbers)}",
                stop,
            )
        )
        for n in range(CLIENTS)
    ]
    senders += [
        asyncio.create_task(
            send_batches_until_stopped(
                books, HttpConnection(child.address), workspace.public_id, lambda: f"e{next(numbers)}", stop
            )
        )
        for workspace in deployment.workspaces
    ]
    first, restarts = cpu_seconds(child.process.pid), []
    for kill in range(20 if is_full_run else 3):
        seen = len(books.acknowledged)
        await wait_until(
            lambda seen=seen, kill=kill: len(books.acknowledged) > seen + BETWEEN_KILLS + 7 * kill
        )
        child.process.kill()
        await child.wait_for_exit_code_and_output()
        child = await IngestProcess.start_and_wait_until_listening(deployment.config, listen=child.address)
        restarts.append(cpu_seconds(child.process.pid))
    seen = len(books.acknowledged)
    await wait_until(lambda: len(books.acknowledged) > seen + BETWEEN_KILLS)
    stop.set()
    await asyncio.gather(*senders)
    assert await child.terminate_or_kill_after_timeout() == 0
    assert books.unexpected_replies == []
    assert books.compare_with_stored(await deployment.kept()) == (frozenset(), frozenset(), frozenset())
    assert books.sent == books.acknowledged
    assert max(restarts) < max(READY_SECONDS, 2 * first)

    async with deployment.spool() as queue:
        now = datetime.now(UTC)
        rows = [
            row
            for workspace in deployment.workspaces
            for row in await queue.ledger_rows(
                workspace.id, now - timedelta(hours=2), now + timedelta(hours=1)
            )
        ]
    assert all(row.is_balanced for row in rows)
    assert sum(row.in_flight for row in rows) == len(books.acknowledged)


@pytest.mark.faults
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_stop_finishes_requests_in_flight(deployment, server):
    books, stop, numbers = SentEvents(), asyncio.Event(), count()
    async with deployment.ingest(server=server) as child:
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
            for n in range(4)
        ]
        await wait_until(lambda: len(books.acknowledged) > 100)
        stop.set()
        await asyncio.gather(*senders)
        assert await child.terminate_or_kill_after_timeout() == 0
    assert books.compare_with_stored(await deployment.kept()) == (frozenset(), frozenset(), frozenset())


@pytest.mark.faults
async def test_ingest_host_ends_with_its_parent(deployment):
    child = await IngestProcess.start_and_wait_until_listening(deployment.config, listen="127.0.0.1:0")
    child.process.stdin.close()
    async with asyncio.timeout(100):
        assert await child.wait_for_exit_code_and_output() == 0
