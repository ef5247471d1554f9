"""F1 behind the queue: the consumer process is killed while it works, and every accepted event is stored, once."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.consumer.consumer_process import run_consumer_process_until_stopped
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.kernel.clock import system_clock
from service_core.kernel.time_ranges import TimeRange
from tests.fixtures.waiting import wait_until

BETWEEN_KILLS = 300
"""Events that are offered before each kill."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(450)]


@pytest.fixture
async def ports(deployment):
    """The open ports of the process that owns the event store."""
    settings = load_settings_with_environment(deployment.config)
    opened = Ports(settings, deployment.config.parent, load_installed_registry_once(), system_clock)
    async with start_adapters([opened.workspace, opened.queue, opened.events]):
        yield opened


def consumer_pid():
    """The process id of the consumer this process has started; None while there is none."""
    for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        if b"hosts.consumer" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    return None


async def offer_events(queue, workspace, numbers, events):
    """Offers events of a few visitors, and returns their ids."""
    ids = [f"e{next(numbers)}" for _ in range(events)]
    arrivals = [
        ReceivedEvent(
            workspace.id, workspace.id, IngestEndpoint.TRACK, id_, True, datetime.now(UTC),
            json.dumps({"event": "page_view", "anonymous_id": f"v{len(id_)}"}).encode(), None, None, {},
        )
        for id_ in ids
    ]  # fmt: skip
    await queue.offer_all(arrivals)
    return ids


async def stored_ids(events, workspace):
    now = datetime.now(UTC)
    span = TimeRange(now - timedelta(days=1), now + timedelta(days=1))
    scope = QueryScope(workspace.id, span, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
    return [event.event_id for event in (await events.list_events(EventPageQuery(scope, 100_000))).events]


async def test_killed_consumer_is_restarted_and_stores_each_event_once(ports, deployment, is_full_run):
    stop, numbers, sent, workspace = asyncio.Event(), count(), [], deployment.workspaces[0]
    consuming = asyncio.create_task(run_consumer_process_until_stopped(deployment.config, ports.events, stop))
    for _ in range(20 if is_full_run else 2):
        pid = await wait_until(consumer_pid)
        seen = len(await stored_ids(ports.events, workspace))
        sent += await offer_events(ports.queue, workspace, numbers, BETWEEN_KILLS)
        await wait_until(lambda seen=seen: has_more_than(seen, ports.events, workspace))
        sent += await offer_events(ports.queue, workspace, numbers, BETWEEN_KILLS)
        os.kill(pid, 9)
        await wait_until(lambda pid=pid: consumer_pid() != pid)
    await wait_until(lambda: has_more_than(len(sent) - 1, ports.events, workspace))
    await wait_until(lambda: is_empty(ports.queue))
    stop.set()
    await consuming
    assert sorted(await stored_ids(ports.events, workspace)) == sorted(sent)
    assert consumer_pid() is None


async def is_empty(queue):
    return (await queue.state()).waiting_count == 0


async def has_more_than(seen, events, workspace):
    return len(await stored_ids(events, workspace)) > seen


async def test_consumer_that_cannot_start_is_tried_again_until_it_can(ports, deployment, caplog, capfd):
    stop, settings, workspace = asyncio.Event(), deployment.config.read_text(), deployment.workspaces[0]
    deployment.config.write_text('[storage]\nevents = "memory://"\n')
    consuming = asyncio.create_task(run_consumer_process_until_stopped(deployment.config, ports.events, stop))
    await wait_until(lambda: "The consumer did not start; its reason stands above." in caplog.messages)
    assert "memory:// takes no batches of another process." in capfd.readouterr().err
    deployment.config.write_text(settings)
    (sent,) = await offer_events(ports.queue, workspace, count(), 1)
    await wait_until(lambda: has_more_than(0, ports.events, workspace))
    assert await stored_ids(ports.events, workspace) == [sent]
    stop.set()
    await consuming
    assert consumer_pid() is None
