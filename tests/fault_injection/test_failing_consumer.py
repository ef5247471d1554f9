"""F4, F6, F11 between queue and event store: calls fail or take long; every event is stored, once, and counted."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.worker.consumer import build_ingest_pipeline, consume_queue_until_stopped
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.ports import EventPageQuery
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult
from service_core.kernel.clock import system_clock
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder
from service_core.testing.fault_injection import FaultInjector, fail_each_call, with_faults
from tests.fault_injection.conftest import FULL

IDS = [f"e{number}" for number in range(8)]
POISON = b"no json"
EVENTS = "duckdb:///events.db" if FULL else "memory://"
INSTALLED = load_installed_registry_once()


class ConsumerDeployment:
    """A deployment whose queue and event store fail, or take their time, as told."""

    def __init__(self, folder, faults, queue="spool:///spool.db"):
        folder.mkdir()
        (folder / "touchpoint.toml").write_text(
            f'[ingest]\nqueue = "{queue}"\n[storage]\nevents = "{EVENTS}"\n'
        )
        settings = load_settings_with_environment(folder / "touchpoint.toml")
        registry = wrap_adapters(
            INSTALLED,
            lambda port, adapter: with_faults(adapter, faults) if port in {"queue", "events"} else adapter,
        )
        self.ports = Ports(settings, folder, registry, system_clock)
        self.pipeline = build_ingest_pipeline(self.ports, settings)
        self.faults = faults

    def running(self):
        return start_adapters([self.ports.workspace, self.ports.queue, self.ports.events])

    async def found(self):
        self.workspace = (
            await create_workspace_with_keys(self.ports.workspace.credentials, datetime.now(UTC), name="Shop")
        ).workspace

    async def offer(self, event_id, body=None):
        sent = body or json.dumps({"event": "purchase", "user_id": "u", "event_id": event_id}).encode()
        caller = self.workspace.id
        arrival = ReceivedEvent(
            caller, caller, IngestEndpoint.TRACK, event_id, True, datetime.now(UTC), sent, None, None, {}
        )
        return await self.ports.queue.offer(arrival)

    async def stored(self):
        """Ids in the event store, repeats included."""
        now = datetime.now(UTC)
        scan = EventBuilder(self.workspace.id).query_scope(
            TimeRange(now - timedelta(days=1), now + timedelta(days=1))
        )
        return sorted(
            event.event_id
            for event in (await self.ports.events.list_events(EventPageQuery(scan, 10_000))).events
        )

    async def row(self):
        """What the ledger says, as one row, when it balances."""
        now = datetime.now(UTC)
        rows = await self.ports.queue.ledger_rows(
            self.workspace.id, now - timedelta(hours=2), now + timedelta(hours=2)
        )
        assert all(row.is_balanced for row in rows)
        return tuple(
            sum(getattr(row, name) for row in rows) for name in ("stored", "quarantined", "in_flight")
        )


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_every_event_is_stored_once_whichever_consumer_call_fails(tmp_path, after):
    folders = count()

    async def run(faults):
        at, faults.call_number = faults.call_number, 0
        shop = ConsumerDeployment(tmp_path / str(next(folders)), faults)
        async with shop.running():
            await shop.found()
            offers = await asyncio.gather(*map(shop.offer, IDS), shop.offer("bad", POISON))
            assert set(offers) == {EnqueueResult.QUEUED}
            faults.fail_at_call(at, fail_after_effect=after)
            while True:
                try:
                    if await shop.pipeline.process_batch() == 0:
                        break
                except OSError:
                    await shop.row()
            calls = list(faults.calls)
            faults.stop_faults()
            assert await shop.stored() == IDS
            assert await shop.row() == (len(IDS), 1, 0)
            (aside,) = await shop.ports.queue.list_quarantined(shop.workspace.id, 10)
            assert aside.queued.arrival.body == POISON
        faults.calls = calls

    assert await fail_each_call(run, fail_after_effect=after) >= 4


async def test_slow_store_delays_the_consumer_and_no_client(tmp_path):
    shop = ConsumerDeployment(tmp_path / "shop", FaultInjector(only_methods=frozenset({"append"}), delay=1))
    stop = asyncio.Event()
    async with shop.running():
        await shop.found()
        consuming = asyncio.create_task(consume_queue_until_stopped(shop.pipeline, stop))
        waits = []

        async def client(number):
            for event in range(20):
                started = time.monotonic()
                assert await shop.offer(f"{number} {event}") is EnqueueResult.QUEUED
                waits.append(time.monotonic() - started)

        await asyncio.gather(*map(client, range(20)))
        assert sorted(waits)[len(waits) // 2] < 1
        shop.faults.stop_faults()
        async with asyncio.timeout(100):
            while (await shop.row())[2]:
                await asyncio.sleep(0.02)
        stop.set()
        await consuming
        assert await shop.stored() == sorted(f"{n} {event}" for n in range(20) for event in range(20))
        assert await shop.row() == (400, 0, 0)


async def test_full_slow_queue_refuses_immediately_and_keeps_accepted_events(tmp_path):
    shop = ConsumerDeployment(tmp_path / "shop", FaultInjector(), queue="spool:///spool.db?max_queued=50")
    async with shop.running():
        await shop.found()
        answers = await asyncio.gather(*(shop.offer(f"e{n}") for n in range(200)), return_exceptions=True)
        taken = [f"e{n}" for n, answer in enumerate(answers) if answer is EnqueueResult.QUEUED]
        assert all(
            isinstance(answer, EnqueueFailed) for answer in answers if answer is not EnqueueResult.QUEUED
        )
        assert 0 < len(taken) < 200
        waiting = await shop.ports.queue.take(1_000)
        assert sorted(queued.arrival.event_id for queued in waiting) == sorted(taken)
