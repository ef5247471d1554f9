"""F1, F2 on PostgreSQL: service and database are killed under load; reads say unknown, and the books agree."""

import asyncio
import json
import sys
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope
from service_core.kernel.clock import system_clock
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.durability_client import HttpConnection, SentEvents, send_events_until_stopped
from service_core.testing.reserved_port import reserve_loopback_port
from tests.fixtures.processes import (
    children_of,
    read_async_output_pairs,
    running_async_process,
    stop_async_process,
    wait_for_exit,
)

SETTINGS = """
[storage]
workspace = "{url}"
events = "{url}?schema=events"
"""
CLIENTS = 6
BETWEEN_FAULTS = 100
"""Acknowledged events before the next fault."""


class PostgresDeployment:
    """`touchpoint serve` on PostgreSQL, with clients that send to it and keep books."""

    def __init__(self, config, initialized_deployment, reader):
        self.config, self.initialized_deployment, self.reader = config, initialized_deployment, reader
        self.api, self.ingest = (f"127.0.0.1:{reserve_loopback_port(self)}" for _ in range(2))
        self.books, self.statuses = SentEvents(), set()
        self.process, self.processes = None, AsyncExitStack()

    async def start(self):
        command = [sys.executable, "-m", "hosts.cli", "serve", "--config", str(self.config)]
        self.process = await self.processes.enter_async_context(
            running_async_process(*command, "--api", self.api, "--ingest", self.ingest)
        )
        await read_async_output_pairs(self.process, 2)

    async def kill(self):
        """The end of it, and that of its ingest host, which it started: until then the address is not free."""
        children = children_of(self.process.pid)
        self.process.kill()
        await self.process.wait()
        await asyncio.to_thread(wait_for_exit, children)

    async def read(self, path):
        """Status and answer of a read; the status is noted."""
        today = datetime.now(UTC).date()
        url = f"http://{self.api}/v1{path}?start_date={today - timedelta(days=1)}&end_date={today}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.reader}"})
        status, body = await asyncio.to_thread(send_request, request)
        self.statuses.add(status)
        return status, body

    async def until_read(self, path, wanted, seconds=100):
        """The first answer that is what is wanted."""
        async with asyncio.timeout(seconds):
            while not wanted(*(answer := await self.read(path))):
                await asyncio.sleep(0.1)
        return answer[1]

    async def progress(self, seconds=100):
        seen = len(self.books.acknowledged)
        async with asyncio.timeout(seconds):
            while len(self.books.acknowledged) < seen + BETWEEN_FAULTS:
                await asyncio.sleep(0.01)

    async def stored(self):
        """Event ids in the store, repeats included."""
        ports = Ports(
            load_settings_with_environment(self.config),
            self.config.parent,
            load_installed_registry_once(),
            system_clock,
        )
        now = datetime.now(UTC)
        span = TimeRange(now - timedelta(days=1), now + timedelta(days=1))
        scan = QueryScope(
            self.initialized_deployment.workspace.id,
            span,
            "USD",
            "UTC",
            ConversionSet(frozenset()),
            include_bots=True,
        )
        async with start_adapters([ports.events]):
            return [
                event.event_id
                for event in (await ports.events.list_events(EventPageQuery(scan, 100_000))).events
            ]


def send_request(request):
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


@pytest.fixture
async def service(tmp_path, postgres_server):
    config = tmp_path / "touchpoint.toml"
    config.write_text(SETTINGS.format(url=postgres_server.url))
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace]):
        now = datetime.now(UTC)
        initialized_deployment = await create_workspace_with_keys(
            ports.workspace.credentials, now, name="Shop"
        )
        reader = await create_named_key_clamping_rate_limit_to_plan(
            ports.workspace.credentials,
            initialized_deployment.workspace,
            now,
            name="Reader",
            requested_rate_limit=10_000,
        )
    made = PostgresDeployment(config, initialized_deployment, reader.secret)
    async with made.processes:
        await made.start()
        yield made


@pytest.mark.faults
@pytest.mark.timeout(450)
async def test_killed_service_and_database_lose_and_duplicate_no_event(service, postgres_server, is_full_run):
    stop, numbers = asyncio.Event(), count()
    key = service.initialized_deployment.write_key.secret
    senders = [
        asyncio.create_task(
            send_events_until_stopped(
                service.books, HttpConnection(service.ingest), key, lambda: f"e{next(numbers)}", stop
            )
        )
        for _ in range(CLIENTS)
    ]
    for fault in range(20 if is_full_run else 1):
        await service.progress()
        postgres_server.kill()
        _, answer = await service.read("/overview")
        assert answer["code"] == "data_unverified"
        if are_both_killed := fault % 4 == 2:
            await service.kill()
        postgres_server.start()
        if not are_both_killed:
            await service.until_read("/overview", lambda status, _: status == 200)
        if fault % 4 == 0:
            await service.progress()
            await service.kill()
        if fault % 2 == 0:
            await service.start()
    await service.progress()
    stop.set()
    await asyncio.gather(*senders)
    assert service.books.unexpected_replies == []
    assert service.books.sent == service.books.acknowledged
    answer = await service.until_read(
        "/ledger", lambda status, body: status == 200 and body["totals"]["in_flight"] == 0
    )
    assert answer["balanced"]
    assert answer["totals"]["stored"] == len(service.books.acknowledged)
    assert await stop_async_process(service.process) == 0
    assert service.statuses == {200, 503}
    assert service.books.compare_with_stored(await service.stored()) == (
        frozenset(),
        frozenset(),
        frozenset(),
    )
