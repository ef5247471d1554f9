"""F25: a copy of a running deployment, restored: what was acknowledged before it began is there, once."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from hosts.backup.making import back_up
from hosts.backup.restoring import restore
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.worker.consumer import drain, pipeline_of
from service_core.access.keys import found_workspace
from service_core.insight.ports import ConversionSet, EventPage, Scan
from service_core.intake.model import Arrival, Channel
from service_core.kernel.clock import system_clock
from service_core.kernel.ranges import Span
from service_core.testing.client import Books, Connection, keep_sending
from tests.processes import ended, heard, started

SENDERS = 4
STORED_AT_LEAST = 60
"""Acknowledged events before the backup begins, and after it has ended."""


async def until(condition, seconds=100):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
async def shop(tmp_path):
    """Settings, and a workspace with its write key."""
    folder = tmp_path / "shop"
    folder.mkdir()
    config = folder / "touchpoint.toml"
    config.write_text("# a shop\n")
    ports = Ports(load_settings(config), folder, installed(), system_clock)
    async with running([ports.workspace]):
        founded = await found_workspace(ports.workspace, datetime.now(UTC), name="Shop")
    return config, founded


async def stored(config, workspace):
    """Event ids and ledger rows of a deployment nobody serves, once its queue is empty."""
    settings = load_settings(config)
    ports = Ports(settings, config.parent, installed(), system_clock)
    opened = [ports.workspace, ports.queue, ports.events, ports.devices, ports.domains]
    async with running(opened):
        waiting = (await ports.queue.state()).waiting
        await drain(pipeline_of(ports, settings.ingest), lambda _: None)
        now = datetime.now(UTC)
        span = Span(now - timedelta(days=1), now + timedelta(days=1))
        scan = Scan(workspace.id, span, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
        events = (await ports.events.page(EventPage(scan, 100_000))).events
        ledger = await ports.queue.ledger(workspace.id, span.start, span.end)
        return events, ledger, waiting


async def test_a_backup_of_a_running_service_restores_what_was_acknowledged_once(shop, tmp_path):
    config, founded = shop
    books, stop, numbers = Books(), asyncio.Event(), count()
    key, command = (
        founded.write_key.secret,
        [sys.executable, "-m", "hosts.cli", "serve", "--config", str(config)],
    )
    async with started(*command, "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0") as process:
        ingest = (await heard(process, 2))["ingest"].removeprefix("http://")
        senders = [
            asyncio.create_task(
                keep_sending(books, Connection(ingest), key, lambda: f"e{next(numbers)}", stop)
            )
            for _ in range(SENDERS)
        ]
        await until(lambda: len(books.acknowledged) > STORED_AT_LEAST)
        before = set(books.acknowledged)
        manifest = await asyncio.to_thread(back_up, config, tmp_path / "backup.tar.gz")
        seen = len(books.acknowledged)
        await until(lambda: len(books.acknowledged) > seen + STORED_AT_LEAST)
        stop.set()
        await asyncio.gather(*senders)
        assert await ended(process) == 0
    assert books.unexpected == []
    assert manifest.elsewhere == ()

    await asyncio.to_thread(restore, tmp_path / "backup.tar.gz", tmp_path / "again")
    restored = tmp_path / "again" / "touchpoint.toml"
    events, ledger, _ = await stored(restored, founded.workspace)
    ids = [event.event_id for event in events]
    assert before <= set(ids)
    assert len(ids) == len(set(ids))
    assert set(ids) <= books.sent
    assert len({event.seq for event in events}) == len(ids)
    assert all(row.balanced for row in ledger)
    assert sum(row.stored for row in ledger) == len(ids)

    # The original went on: its events are more, and none is missing there either.
    kept, _, _ = await stored(config, founded.workspace)
    assert books.check([event.event_id for event in kept]) == (frozenset(), frozenset(), frozenset())


async def test_a_deployment_that_nobody_serves_is_copied_too_and_what_waited_is_stored_after_the_restore(
    shop, tmp_path
):
    config, founded = shop
    settings = load_settings(config)
    ports = Ports(settings, config.parent, installed(), system_clock)
    async with running([ports.workspace, ports.queue, ports.events, ports.devices, ports.domains]):
        for number in range(3):
            await ports.queue.offer(_arrival(founded, f"early{number}"))
        await drain(pipeline_of(ports, settings.ingest), lambda _: None)
        await ports.queue.offer(_arrival(founded, "waiting"))
    back_up(config, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    events, _, waiting = await stored(tmp_path / "again" / "touchpoint.toml", founded.workspace)
    assert waiting == 1
    assert sorted(event.event_id for event in events) == ["early0", "early1", "early2", "waiting"]


def _arrival(founded, event_id):
    return Arrival(
        workspace_id=founded.workspace.id, key_id=founded.write_key.credential.id, channel=Channel.TRACK,
        event_id=event_id, claimed=True, received_at=datetime.now(UTC),
        body=b'{"event_name":"page_view","anonymous_id":"a"}', user_agent=None, address=None, headers={},
    )  # fmt: skip
