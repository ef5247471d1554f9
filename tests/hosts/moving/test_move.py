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
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.moving.comparing import EVENTS, differences
from hosts.moving.copying import copy
from hosts.moving.months import months
from hosts.ownership import consumer_of
from plugins.events_memory.adapter import MemoryEvents
from service_core.access.keys import found_workspace
from service_core.access.reader import reader_of
from service_core.changes.write import Writes
from service_core.insight.ports import ConversionSet, EventPage, Scan
from service_core.kernel.clock import system_clock
from service_core.kernel.ranges import Span
from service_core.testing.generated import world
from service_core.testing.story import Story
from service_core.workspace.identity.model import REVOKED_KIND
from service_core.workspace.identity.revoke import revoke

NOW = datetime(2026, 9, 1, tzinfo=UTC)
EVER = Span(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
async def deployment(tmp_path):
    """Settings, and a workspace in a zone with clock changes."""
    config = tmp_path / "touchpoint.toml"
    config.write_text("")
    ports = Ports(load_settings(config), tmp_path, installed(), system_clock)
    async with running([ports.workspace]):
        founded = await found_workspace(
            ports.workspace, datetime.now(UTC), name="Shop", timezone="Europe/Berlin"
        )
    return config, founded.workspace


@pytest.fixture
async def duckdb(tmp_path):
    """Two embedded stores."""
    stores = [installed().open("events", f"duckdb:///{name}.duckdb", folder=tmp_path) for name in "ab"]
    async with running(stores):
        yield stores


def happened(workspace, seed=7, size=120):
    """Generated events of a workspace."""
    return [replace(event, workspace_id=workspace.id) for event in world(Random(seed), size).story.events]


async def rows(store, workspace):
    scan = Scan(workspace.id, EVER, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
    return (await store.page(EventPage(scan, 100_000))).events


async def all_differences(workspace, source, target):
    return [each async for each in differences(workspace, source, target, installed(), now=NOW)]


async def test_every_row_comes_over_as_it_was_and_every_metric_says_the_same(deployment, duckdb):
    _, workspace = deployment
    source = MemoryEvents()
    await source.append(happened(workspace))
    first, second = duckdb
    told = []
    await copy(workspace, source, first, told.append)
    assert await rows(first, workspace) == await rows(source, workspace)
    assert sum(told) == len(await rows(source, workspace))
    await copy(workspace, first, second)
    assert await rows(second, workspace) == await rows(source, workspace)
    assert await all_differences(workspace, first, second) == []
    back = MemoryEvents()
    await copy(workspace, second, back)
    assert await rows(back, workspace) == await rows(source, workspace)


async def test_events_move_from_the_embedded_store_to_postgresql_and_every_metric_says_the_same(
    deployment, duckdb, postgres_url
):
    _, workspace = deployment
    embedded, _ = duckdb
    await embedded.append(happened(workspace))
    server = installed().open("events", f"{postgres_url}?schema=events", folder=Path())
    async with running([server]):
        await copy(workspace, embedded, server)
        assert await rows(server, workspace) == await rows(embedded, workspace)
        assert await all_differences(workspace, embedded, server) == []


async def test_a_move_that_was_cut_short_goes_on_and_copies_no_whole_day_twice(deployment):
    _, workspace = deployment
    source, target = MemoryEvents(), MemoryEvents()
    events = happened(workspace)
    await source.append(events)
    await target.append([event for event in events if event.timestamp.day % 2])
    appended = []
    append = target.append

    async def watched(some):
        appended.extend(some)
        return await append(some)

    target.append = watched
    await copy(workspace, source, target)
    assert await rows(target, workspace) == await rows(source, workspace)
    assert all(event.timestamp.day % 2 == 0 for event in appended)
    appended.clear()
    await copy(workspace, source, target)
    assert appended == []


async def test_what_differs_is_named_by_workspace_month_and_metric(deployment):
    _, workspace = deployment
    source, target = MemoryEvents(), MemoryEvents()
    story = Story(workspace.id)
    story.happens("page_view", at="2026-06-10T10:00:00Z", visitor="a", session="s1")
    await target.append(story.events)
    story.happens("purchase", at="2026-07-10T10:00:00Z", visitor="a", session="s2", revenue=500)
    await source.append(story.events)
    found = await all_differences(workspace, source, target)
    assert {(each.workspace, each.month) for each in found} == {(workspace.public_id, "2026-07")}
    said = {each.what: (each.source, each.target) for each in found}
    assert said[EVENTS] == ("1", "0")
    assert said["revenue"] == ("500", "0")
    assert said["visitors with bots"] == ("1", "0")


def test_months_are_those_of_the_zone():
    berlin = ZoneInfo("Europe/Berlin")
    last_of_march = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)
    ((name, span),) = months(last_of_march, last_of_march, berlin)
    assert (name, span.start) == ("2026-04", datetime(2026, 3, 31, 22, tzinfo=UTC))
    assert [name for name, _ in months(NOW - timedelta(days=400), NOW, berlin)][::13] == [
        "2025-07",
        "2026-08",
    ]


async def fill(config, workspace, events):
    store = installed().open("events", "duckdb:///events.duckdb", folder=config.parent)
    async with running([store]):
        for start in range(0, len(events), 2_000):
            await store.append(events[start : start + 2_000])


def moved(config, *options):
    return CliRunner().invoke(app, ["move", "--config", str(config), *options], env={"COLUMNS": "160"})


async def test_a_killed_move_is_run_again_and_says_when_it_is_done(deployment, tmp_path):
    config, workspace = deployment
    story = Story(workspace.id)
    start = datetime(2026, 7, 1, tzinfo=UTC)
    for number in range(6_000):
        at = start + timedelta(minutes=7 * number)
        story.happens("page_view", at=at, visitor=f"v{number % 200}", session=f"s{number // 20}")
    await fill(config, workspace, story.events)
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
    again = await asyncio.to_thread(moved, config, "--to", "duckdb:///new.duckdb")
    assert again.exit_code == 0, again.output
    assert "is the same on both sides" in again.output
    stores = [
        installed().open("events", f"duckdb:///{name}.duckdb", folder=tmp_path) for name in ("events", "new")
    ]
    async with running(stores):
        one, other = [await rows(store, workspace) for store in stores]
    assert [event.seq for event in one] == [event.seq for event in other]
    assert one == other


async def test_identity_links_that_were_taken_back_stay_so_in_the_new_store(deployment, tmp_path):
    config, workspace = deployment
    story = Story(workspace.id)
    for user in ("U1", "U2"):
        story.happens("page_view", at="2026-07-01", visitor=f"of {user}", strong_id=user)
    alias = story.happens(
        "$alias", at="2026-07-02", visitor="U2", strong_id="U2", event_data={"previous_id": "U1"}
    )
    await fill(config, workspace, story.events)
    ports = Ports(load_settings(config), tmp_path, installed(), system_clock)
    async with running([ports.workspace, ports.events]):
        who = reader_of(workspace, NOW, "Ann")
        writes = Writes(ports.workspace, [REVOKED_KIND])
        await revoke(who, alias.event_id, writes=writes, log=ports.events, store=ports.events)
    done = await asyncio.to_thread(moved, config, "--to", "duckdb:///new.duckdb")
    assert "is the same on both sides" in done.output
    store = installed().open("events", "duckdb:///new.duckdb", folder=tmp_path)
    async with running([store]):
        assert await store.resolve(workspace.id, "U1") == "u:U1"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("duckdb:///events.duckdb", "Both URLs are the same"),
        ("oracle://db", "No adapter for 'events' serves"),
    ],
)
async def test_a_move_that_cannot_be_is_one_sentence(deployment, target, sentence):
    config, _ = deployment
    refused = await asyncio.to_thread(moved, config, "--to", target)
    assert refused.exit_code == 2
    assert sentence in refused.output


async def test_a_deployment_that_consumes_is_not_moved(deployment):
    config, _ = deployment
    with consumer_of(Path(config).parent):
        refused = await asyncio.to_thread(moved, config, "--to", "duckdb:///new.duckdb")
    assert refused.exit_code == 2
    assert "Stop `touchpoint serve` first" in refused.output
