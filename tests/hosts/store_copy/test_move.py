"""A move is done when both stores say the same of every metric, workspace and month; until then it says where not."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.store_copy.compare import EVENT_COUNT, SUPERSEDED_COUNT, find_metric_differences_by_month
from hosts.store_copy.copy_events import copy_incomplete_days_of_workspace
from hosts.store_copy.spans import split_into_local_months
from plugins.events_memory.adapter import MemoryEventStore
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.clock import system_clock
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder
from service_core.testing.random_datasets import random_dataset
from service_core.workspace.identity.models import REVOKED_LINK_TYPE
from service_core.workspace.identity.revocation import revoke_identity_links

NOW = datetime(2026, 9, 1, tzinfo=UTC)
ALL_TIME = TimeRange(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
async def deployment(tmp_path):
    """Settings, and a workspace in a zone with clock changes."""
    config = tmp_path / "touchpoint.toml"
    config.write_text("")
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace]):
        initialized_deployment = await create_workspace_with_keys(
            ports.workspace.credentials, datetime.now(UTC), name="Shop", timezone="Europe/Berlin"
        )
    return config, initialized_deployment.workspace


@pytest.fixture
async def duckdb(tmp_path):
    """Two embedded stores."""
    stores = [
        load_installed_registry_once().open_adapter(
            "events", f"duckdb:///{name}.duckdb", base_folder=tmp_path
        )
        for name in "ab"
    ]
    async with start_adapters(stores):
        yield stores


def generate_events(workspace, seed=7, size=120):
    """Generated events of a workspace."""
    return [
        replace(event, workspace_id=workspace.id)
        for event in random_dataset(Random(seed), size).builder.events
    ]


async def read_rows(store, workspace):
    scan = QueryScope(workspace.id, ALL_TIME, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
    return (await store.list_events(EventPageQuery(scan, 100_000))).events


async def all_differences(workspace, source, target):
    return [
        each
        async for each in find_metric_differences_by_month(
            workspace, source, target, load_installed_registry_once(), now=NOW
        )
    ]


async def test_move_copies_every_row_and_keeps_every_metric(deployment, duckdb):
    _, workspace = deployment
    source = MemoryEventStore()
    await source.append(generate_events(workspace))
    first, second = duckdb
    reported = []
    await copy_incomplete_days_of_workspace(workspace, source, first, reported.append)
    assert await read_rows(first, workspace) == await read_rows(source, workspace)
    assert sum(reported) == len(await read_rows(source, workspace))
    await copy_incomplete_days_of_workspace(workspace, first, second)
    assert await read_rows(second, workspace) == await read_rows(source, workspace)
    assert await all_differences(workspace, first, second) == []
    back = MemoryEventStore()
    await copy_incomplete_days_of_workspace(workspace, second, back)
    assert await read_rows(back, workspace) == await read_rows(source, workspace)


async def test_move_to_postgresql_keeps_every_metric(deployment, duckdb, postgres_url):
    _, workspace = deployment
    embedded, _ = duckdb
    await embedded.append(generate_events(workspace))
    server = load_installed_registry_once().open_adapter(
        "events", f"{postgres_url}?schema=events", base_folder=Path()
    )
    async with start_adapters([server]):
        await copy_incomplete_days_of_workspace(workspace, embedded, server)
        assert await read_rows(server, workspace) == await read_rows(embedded, workspace)
        assert await all_differences(workspace, embedded, server) == []


async def test_interrupted_move_resumes_without_copying_whole_days_again(deployment):
    _, workspace = deployment
    source, target = MemoryEventStore(), MemoryEventStore()
    events = generate_events(workspace)
    await source.append(events)
    await target.append([event for event in events if event.timestamp.day % 2])
    appended = []
    append = target.append

    async def watched(some):
        appended.extend(some)
        return await append(some)

    target.append = watched
    await copy_incomplete_days_of_workspace(workspace, source, target)
    assert await read_rows(target, workspace) == await read_rows(source, workspace)
    assert all(event.timestamp.day % 2 == 0 for event in appended)
    appended.clear()
    await copy_incomplete_days_of_workspace(workspace, source, target)
    assert appended == []


async def test_differences_are_named_by_workspace_month_and_metric(deployment):
    _, workspace = deployment
    source, target = MemoryEventStore(), MemoryEventStore()
    story = EventBuilder(workspace.id)
    story.add_event("page_view", at="2026-06-10T10:00:00Z", visitor="a", session="s1")
    await target.append(story.events)
    story.add_event("purchase", at="2026-07-10T10:00:00Z", visitor="a", session="s2", revenue=500)
    await source.append(story.events)
    found = await all_differences(workspace, source, target)
    assert {(each.workspace, each.month) for each in found} == {(workspace.public_id, "2026-07")}
    values = {each.metric: (each.source, each.target) for each in found}
    assert values[EVENT_COUNT] == ("1", "0")
    assert values["revenue"] == ("500", "0")
    assert values["visitors with bots"] == ("1", "0")


def test_months_follow_the_workspace_time_zone():
    berlin = ZoneInfo("Europe/Berlin")
    last_of_march = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)
    ((name, span),) = split_into_local_months(last_of_march, last_of_march, berlin)
    assert (name, span.start) == ("2026-04", datetime(2026, 3, 31, 22, tzinfo=UTC))
    assert [name for name, _ in split_into_local_months(NOW - timedelta(days=400), NOW, berlin)][::13] == [
        "2025-07",
        "2026-08",
    ]


async def append_events(config, workspace, events):
    store = load_installed_registry_once().open_adapter(
        "events", "duckdb:///events.duckdb", base_folder=config.parent
    )
    async with start_adapters([store]):
        for start in range(0, len(events), 2_000):
            await store.append(events[start : start + 2_000])


def run_move(config, *options):
    return CliRunner().invoke(app, ["move", "--config", str(config), *options], env={"COLUMNS": "160"})


async def test_killed_move_can_be_repeated(deployment, tmp_path):
    config, workspace = deployment
    story = EventBuilder(workspace.id)
    start = datetime(2026, 7, 1, tzinfo=UTC)
    for number in range(6_000):
        at = start + timedelta(minutes=7 * number)
        story.add_event("page_view", at=at, visitor=f"v{number % 200}", session=f"s{number // 20}")
    await append_events(config, workspace, story.events)
    command = [
        sys.executable,
        "-m",
        "hosts.cli",
        "move",
        "--config",
        str(config),
        "--to",
        "duckdb:///new.duckdb",
    ]
    log, new = tmp_path / "new.duckdb.wal", tmp_path / "new.duckdb"
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(200):
            while process.returncode is None and not (log.exists() and log.stat().st_size > 100_000):
                await asyncio.sleep(0.002)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    assert new.exists()
    again = await asyncio.to_thread(run_move, config, "--to", "duckdb:///new.duckdb")
    assert again.exit_code == 0, again.output
    assert "is the same on both sides" in again.output
    stores = [
        load_installed_registry_once().open_adapter(
            "events", f"duckdb:///{name}.duckdb", base_folder=tmp_path
        )
        for name in ("events", "new")
    ]
    async with start_adapters(stores):
        one, other = [await read_rows(store, workspace) for store in stores]
    assert [event.seq for event in one] == [event.seq for event in other]
    assert one == other


async def test_superseded_events_are_moved_and_compared(deployment, tmp_path):
    config, workspace = deployment
    story = EventBuilder(workspace.id)
    claimed = story.add_event("purchase", at="2026-07-01", visitor="A1", source="web")
    await append_events(config, workspace, [claimed, replace(claimed, seq=claimed.seq + 1, source="api")])
    done = await asyncio.to_thread(run_move, config, "--to", "duckdb:///new.duckdb")
    assert "is the same on both sides" in done.output
    stores = [
        load_installed_registry_once().open_adapter(
            "events", f"duckdb:///{name}.duckdb", base_folder=tmp_path
        )
        for name in ("events", "new")
    ]
    async with start_adapters(stores):
        for store in stores:
            pieces = [piece async for piece in store.stream_superseded_events(workspace.id)]
            assert [each.event for piece in pieces for each in piece] == [claimed]
        without = MemoryEventStore()
        await copy_incomplete_days_of_workspace(workspace, stores[0], without)
        (difference,) = await all_differences(workspace, stores[0], without)
    assert (difference.metric, difference.source, difference.target) == (SUPERSEDED_COUNT, "1", "0")


async def test_revoked_identity_links_stay_revoked_after_a_move(deployment, tmp_path):
    config, workspace = deployment
    story = EventBuilder(workspace.id)
    for user in ("U1", "U2"):
        story.add_event("page_view", at="2026-07-01", visitor=f"of {user}", strong_id=user)
    alias = story.add_event(
        "$alias", at="2026-07-02", visitor="U2", strong_id="U2", event_data={"previous_id": "U1"}
    )
    await append_events(config, workspace, story.events)
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace, ports.events]):
        caller = build_unlimited_read_only_caller(workspace, NOW, "Ann")
        writes = ChangeExecutor(ports.workspace.transactions, [REVOKED_LINK_TYPE])
        await revoke_identity_links(
            caller, alias.event_id, changes=writes, event_reader=ports.events, event_store=ports.events
        )
    done = await asyncio.to_thread(run_move, config, "--to", "duckdb:///new.duckdb")
    assert "is the same on both sides" in done.output
    store = load_installed_registry_once().open_adapter(
        "events", "duckdb:///new.duckdb", base_folder=tmp_path
    )
    async with start_adapters([store]):
        assert await store.find_person_of_any_id(workspace.id, "U1") == "u:U1"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("duckdb:///events.duckdb", "Both URLs are the same"),
        ("oracle://db", "No adapter for 'events' serves"),
    ],
)
async def test_impossible_move_prints_one_sentence(deployment, target, sentence):
    config, _ = deployment
    refused = await asyncio.to_thread(run_move, config, "--to", target)
    assert refused.exit_code == 2
    assert sentence in refused.output


async def test_running_deployment_is_not_moved(deployment):
    config, _ = deployment
    with try_consumer_lock(Path(config).parent):
        refused = await asyncio.to_thread(run_move, config, "--to", "duckdb:///new.duckdb")
    assert refused.exit_code == 2
    assert "Stop `touchpoint serve` first" in refused.output
