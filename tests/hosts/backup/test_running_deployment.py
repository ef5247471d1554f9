"""F25: a copy of a running deployment, restored: what was acknowledged before it began is there, once."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from hosts.backup.create import create_backup
from hosts.backup.restore import restore_backup_into_empty_folder
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.worker.consumer import build_ingest_pipeline, process_batches_until_queue_is_empty
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.kernel.clock import system_clock
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.durability_client import HttpConnection, SentEvents, send_events_until_stopped
from tests.fixtures.processes import read_async_output_pairs, running_async_process, stop_async_process
from tests.fixtures.waiting import wait_until

SENDERS = 4
STORED_AT_LEAST = 60
"""Acknowledged events before the backup begins, and after it has ended."""


@pytest.fixture
async def deployment(tmp_path):
    """Settings, and a workspace with its write key."""
    folder = tmp_path / "shop"
    folder.mkdir()
    config = folder / "touchpoint.toml"
    config.write_text("# a shop\n")
    ports = Ports(
        load_settings_with_environment(config), folder, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace]):
        initialized_deployment = await create_workspace_with_keys(
            ports.workspace.credentials, datetime.now(UTC), name="Shop"
        )
    return config, initialized_deployment


async def list_stored_event_ids(config, workspace):
    """Event ids and ledger rows of a deployment nobody serves, once its queue is empty."""
    settings = load_settings_with_environment(config)
    ports = Ports(settings, config.parent, load_installed_registry_once(), system_clock)
    opened = [ports.workspace, ports.queue, ports.events, ports.devices, ports.domains]
    async with start_adapters(opened):
        waiting = (await ports.queue.state()).waiting_count
        await process_batches_until_queue_is_empty(build_ingest_pipeline(ports, settings), lambda _: None)
        now = datetime.now(UTC)
        span = TimeRange(now - timedelta(days=1), now + timedelta(days=1))
        scan = QueryScope(workspace.id, span, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
        events = (await ports.events.list_events(EventPageQuery(scan, 100_000))).events
        ledger = await ports.queue.ledger_rows(workspace.id, span.start, span.end)
        return events, ledger, waiting


async def test_backup_of_a_running_service_restores_acknowledged_events_once(deployment, tmp_path):
    config, initialized_deployment = deployment
    books, stop, numbers = SentEvents(), asyncio.Event(), count()
    key, command = (
        initialized_deployment.write_key.secret,
        [sys.executable, "-m", "hosts.cli", "serve", "--config", str(config)],
    )
    async with running_async_process(*command, "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0") as process:
        ingest = (await read_async_output_pairs(process, 2))["ingest"].removeprefix("http://")
        senders = [
            asyncio.create_task(
                send_events_until_stopped(
                    books, HttpConnection(ingest), key, lambda: f"e{next(numbers)}", stop
                )
            )
            for _ in range(SENDERS)
        ]
        await wait_until(lambda: len(books.acknowledged) > STORED_AT_LEAST)
        before = set(books.acknowledged)
        manifest = await asyncio.to_thread(create_backup, config, tmp_path / "backup.tar.gz")
        seen = len(books.acknowledged)
        await wait_until(lambda: len(books.acknowledged) > seen + STORED_AT_LEAST)
        stop.set()
        await asyncio.gather(*senders)
        assert await stop_async_process(process) == 0
    assert books.unexpected_replies == []
    assert manifest.external_settings == ()

    await asyncio.to_thread(restore_backup_into_empty_folder, tmp_path / "backup.tar.gz", tmp_path / "again")
    restored = tmp_path / "again" / "touchpoint.toml"
    events, ledger, _ = await list_stored_event_ids(restored, initialized_deployment.workspace)
    ids = [event.event_id for event in events]
    assert before <= set(ids)
    assert len(ids) == len(set(ids))
    assert set(ids) <= books.sent
    assert len({event.seq for event in events}) == len(ids)
    assert all(row.is_balanced for row in ledger)
    assert sum(row.stored for row in ledger) == len(ids)

    # The original went on: its events are more, and none is missing there either.
    kept, _, _ = await list_stored_event_ids(config, initialized_deployment.workspace)
    assert books.compare_with_stored([event.event_id for event in kept]) == (
        frozenset(),
        frozenset(),
        frozenset(),
    )


async def test_backup_of_a_stopped_deployment_restores_queued_events(deployment, tmp_path):
    config, initialized_deployment = deployment
    settings = load_settings_with_environment(config)
    ports = Ports(settings, config.parent, load_installed_registry_once(), system_clock)
    async with start_adapters([ports.workspace, ports.queue, ports.events, ports.devices, ports.domains]):
        for number in range(3):
            await ports.queue.offer(make_arrival(initialized_deployment, f"early{number}"))
        await process_batches_until_queue_is_empty(build_ingest_pipeline(ports, settings), lambda _: None)
        await ports.queue.offer(make_arrival(initialized_deployment, "waiting"))
    create_backup(config, tmp_path / "backup")
    restore_backup_into_empty_folder(tmp_path / "backup", tmp_path / "again")
    events, _, waiting = await list_stored_event_ids(
        tmp_path / "again" / "touchpoint.toml", initialized_deployment.workspace
    )
    assert waiting == 1
    assert sorted(event.event_id for event in events) == ["early0", "early1", "early2", "waiting"]


def make_arrival(initialized_deployment, event_id):
    return ReceivedEvent(
        workspace_id=initialized_deployment.workspace.id, key_id=initialized_deployment.write_key.credential.id, channel=IngestEndpoint.TRACK,
        event_id=event_id, claimed=True, received_at=datetime.now(UTC),
        body=b'{"event_name":"page_view","anonymous_id":"a"}', user_agent=None, address=None, headers={},
    )  # fmt: skip
