"""A deployment of several processes on PostgreSQL and Redis: one service to whoever asks, whatever process ends."""

import asyncio
import json
import os
import signal
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from urllib.error import HTTPError

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
from tests.fixtures.processes import read_async_output_pairs, running_async_process, stop_async_process
from tests.fixtures.waiting import wait_until

SETTINGS = """
[storage]
workspace = "{postgres}"
events = "{postgres}?schema=events"
[ingest]
queue = "{redis}"
[rate_limits]
store = "{redis}"
[exports]
queue = "{redis}"
[monitoring]
listen = "127.0.0.1:0"
"""


def fetch(url, key=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=100) as answer:
        return answer.read().decode()


def role_processes(process):
    """Process id -> command line of the processes one started."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            line = (folder / "cmdline").read_bytes().decode().replace("\0", " ")
        except OSError:
            continue
        if parent == process.pid:
            found[int(folder.name)] = line
    return found


@pytest.fixture
async def deployment(tmp_path, postgres_url, redis_server):
    config = tmp_path / "touchpoint.toml"
    config.write_text(SETTINGS.format(postgres=postgres_url, redis=redis_server.url))
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
    return config, initialized_deployment, reader.secret


async def count_stored_events(config, workspace):
    """Event ids in the store, repeats included."""
    ports = Ports(
        load_settings_with_environment(config), config.parent, load_installed_registry_once(), system_clock
    )
    now = datetime.now(UTC)
    span = TimeRange(now - timedelta(days=1), now + timedelta(days=1))
    scan = QueryScope(workspace.id, span, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
    async with start_adapters([ports.events]):
        return [
            event.event_id for event in (await ports.events.list_events(EventPageQuery(scan, 100_000))).events
        ]


@pytest.mark.faults
@pytest.mark.timeout(450)
async def test_service_of_several_processes_survives_the_end_of_any(deployment):
    config, initialized_deployment, reader = deployment
    command = [sys.executable, "-m", "hosts.cli", "serve", "--config", str(config), "--workers", "2"]
    async with running_async_process(*command, "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0") as process:
        books = await assert_survives_each_exit(process, initialized_deployment, reader)
        assert await stop_async_process(process) == 0
    assert books.compare_with_stored(await count_stored_events(config, initialized_deployment.workspace)) == (
        frozenset(),
        frozenset(),
        frozenset(),
    )


async def assert_survives_each_exit(process, initialized_deployment, reader):
    """The books of clients that sent while processes were killed, once all is stored and ready."""
    answer = await read_async_output_pairs(process, 3)
    lines = role_processes(process)
    roles = sorted(line.split("-m ")[1].split(" --config")[0] for line in lines.values())
    assert roles == [
        "hosts.ingest", "hosts.ingest", "hosts.roles api", "hosts.roles api", "hosts.roles consumer",
        "hosts.roles scheduler",
    ]  # fmt: skip
    books, stop, numbers = SentEvents(), asyncio.Event(), count()
    ingest, key = answer["ingest"].removeprefix("http://"), initialized_deployment.write_key.secret
    senders = [
        asyncio.create_task(
            send_events_until_stopped(books, HttpConnection(ingest), key, lambda: f"e{next(numbers)}", stop)
        )
        for _ in range(4)
    ]

    async def sent(more):
        seen = len(books.acknowledged)
        await wait_until(lambda: len(books.acknowledged) > seen + more)

    await sent(50)
    for role in ("hosts.roles consumer", "hosts.roles api"):
        victim = next(pid for pid, line in role_processes(process).items() if f"-m {role}" in line)
        os.kill(victim, signal.SIGKILL)
        await sent(50)
    await wait_until(lambda: len(role_processes(process)) == 6)
    stop.set()
    await asyncio.gather(*senders)
    assert books.unexpected_replies == []

    today = datetime.now(UTC).date()
    ledger = f"{answer['api']}/v1/ledger?start_date={today - timedelta(days=1)}&end_date={today}"

    async def all_stored():
        try:
            result = json.loads(await asyncio.to_thread(fetch, ledger, reader))
        except HTTPError:  # not known at the moment: a server that is busy does not tell in time
            return None
        return result if result["totals"]["in_flight"] == 0 else None

    result = await wait_until(all_stored)
    assert result["balanced"]
    assert result["totals"]["stored"] == len(books.acknowledged)

    async def ready():
        try:
            result = json.loads(await asyncio.to_thread(fetch, answer["metrics"] + "/ready"))
        except OSError:
            return None
        return result if len(result["roles"]) == 4 else None

    assert (await wait_until(ready))["status"] == "ok"
    return books
