"""A canary walks the real path, is seen at its end, and is an alarm when it is not."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.ports import Ports, start_adapters
from hosts.monitoring.canary import CANARY_WORKSPACE, MAX_LAG, Canary
from hosts.worker.consumer import build_ingest_pipeline, consume_queue_until_stopped
from service_core.ingestion.ports import EnqueueFailed
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Settings
from tests.fixtures.port_stubs import TickingClock


async def test_canary_event_reaches_the_event_store(tmp_path):
    settings = Settings(storage={"events": "memory://"})
    ports = Ports(settings, tmp_path, load_installed_registry_once(), system_clock)
    stop, heard, canary = asyncio.Event(), [], Canary()

    def told(lag, seen):
        heard.append((lag, seen))
        if seen:
            stop.set()

    async with start_adapters([ports.workspace, ports.queue, ports.events, ports.devices, ports.domains]):
        async with asyncio.timeout(100), asyncio.TaskGroup() as tasks:
            tasks.create_task(consume_queue_until_stopped(build_ingest_pipeline(ports, settings), stop))
            tasks.create_task(
                canary.send_and_time_until_stopped(
                    ports.queue,
                    ports.events,
                    system_clock,
                    interval_seconds=0.01,
                    stop=stop,
                    on_lag_and_arrival=told,
                )
            )
        assert (await ports.queue.state()).waiting_count == 0
        assert await ports.events.first_and_last_event_time(CANARY_WORKSPACE.id) is not None
        assert await ports.queue.list_quarantined(CANARY_WORKSPACE.id, 1) == []
        assert all(
            workspace.id != CANARY_WORKSPACE.id
            for workspace in await ports.workspace.credentials.list_workspaces()
        )
    assert heard[-1] == (canary.lag, True)
    assert (await canary.arrival_probe().check()).ok


@pytest.mark.parametrize("fault", ["the queue refuses", "nothing consumes", "the store does not answer"])
async def test_missing_canary_event_raises_an_alert(fault):
    async def offer(_arrival):
        if fault == "the queue refuses":
            raise EnqueueFailed("queue")

    async def bounds(_workspace):
        if fault == "the store does not answer":
            raise OSError
        old = datetime(2026, 6, 1, tzinfo=UTC)
        return old, old

    stop, canary = asyncio.Event(), Canary()
    assert (await canary.arrival_probe().check()).ok  # nobody knows yet

    def told(lag, seen):
        assert not seen
        if lag > MAX_LAG:
            stop.set()

    await canary.send_and_time_until_stopped(
        SimpleNamespace(offer=offer),
        SimpleNamespace(bounds=bounds),
        TickingClock(timedelta(seconds=31)),
        interval_seconds=0.001,
        stop=stop,
        on_lag_and_arrival=told,
    )
    assert canary.lag > MAX_LAG
    assert not (await canary.arrival_probe().check()).ok
