"""Fatal errors, killed processes and restarted servers lose no acknowledged batch and store no partial one."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from plugins.events_sql.adapter import SqlEventStore
from service_core.analytics.ports import StoreUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.postgres_server import PostgresServer
from service_core.testing.random_datasets import random_dataset
from tests.fixtures.processes import running_process
from tests.plugins.events_sql.conftest import count_stored_events, derived_table_contents


async def test_fatal_engine_error_fails_one_append_and_needs_no_restart(
    duckdb: SqlEventStore,
) -> None:
    story = random_dataset(Random(13)).builder
    assert await duckdb.append(story.events[:30]) == 30
    await duckdb._engine.run_write_to_its_end(
        lambda writer: writer.execute_text("SET GLOBAL debug_checkpoint_abort = 'before_header'")
    )
    with pytest.raises(StoreUnavailable):
        await duckdb.maintain()
    assert await duckdb.append(story.events) == len(story.events) - 30
    assert await count_stored_events(duckdb, story) == len(story.events)
    await duckdb.maintain()


async def test_file_is_reopened_after_a_fatal_error_when_all_readers_have_ended(
    duckdb: SqlEventStore,
) -> None:
    story = random_dataset(Random(17)).builder
    await duckdb.append(story.events)

    def pieces(reader):
        reader.lazily_opened_session.begin_snapshot()
        while True:
            yield reader.execute_text("SELECT count(*) FROM events")

    reading = duckdb._engine.stream_without_time_limit(pieces)
    assert await anext(reading) == [(len(story.events),)]
    await duckdb._engine.run_write_to_its_end(
        lambda writer: writer.execute_text("SET GLOBAL debug_checkpoint_abort = 'before_header'")
    )
    with pytest.raises(StoreUnavailable):
        await duckdb.maintain()
    with pytest.raises(StoreUnavailable):
        await count_stored_events(duckdb, story)
    with pytest.raises(StoreUnavailable):
        await anext(reading)
    assert await count_stored_events(duckdb, story) == len(story.events)


async def test_restarted_server_loses_no_acknowledged_event(
    postgres_server: PostgresServer,
) -> None:
    store = collect_plugins_into_registry().open_adapter("events", postgres_server.url, base_folder=Path())
    await store.start()
    story = random_dataset(Random(23)).builder
    assert await store.append(story.events[:30]) == 30
    postgres_server.kill()
    with pytest.raises(StoreUnavailable):
        await count_stored_events(store, story)
    with pytest.raises(StoreUnavailable):
        await store.append(story.events)
    postgres_server.start()
    assert await store.append(story.events) == len(story.events) - 30
    assert await count_stored_events(store, story) == len(story.events)
    await store.aclose()


APPENDER = """
import asyncio, sys
from pathlib import Path
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_builder import EventBuilder

async def main(folder):
    store = collect_plugins_into_registry().open_adapter("events", "duckdb:///events.db?checkpoint_threshold=2MB", base_folder=Path(folder))
    await store.start()
    story = EventBuilder()
    print(story.workspace_id, flush=True)
    for batch in range(10_000):
        story.events.clear()
        for i in range(200):
            story.add_event("page_view", at="2026-03-02", visitor=f"A{i}", session=f"s{batch}")
        await store.append(story.events)
        print(batch + 1, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.faults
def test_killed_process_loses_no_acknowledged_batch_and_stores_no_partial_one(tmp_path: Path) -> None:
    acknowledged = 0
    for wait in (0.3, 0.7):
        with running_process(
            [sys.executable, "-c", APPENDER, str(tmp_path)], stdout=subprocess.PIPE
        ) as process:
            process.stdout.readline()
            process.stdout.readline()
            acknowledged += 200
            deadline = time.monotonic() + wait
            while time.monotonic() < deadline:
                process.stdout.readline()
                acknowledged += 200
            os.kill(process.pid, signal.SIGKILL)
            acknowledged += 200 * len(process.stdout.read().split())
        kept = asyncio.run(_rows(tmp_path))
        assert kept % 200 == 0
        assert acknowledged <= kept <= acknowledged + 200
        acknowledged = kept


async def _rows(folder: Path) -> int:
    store = collect_plugins_into_registry().open_adapter("events", "duckdb:///events.db", base_folder=folder)
    await store.start()
    kept = await derived_table_contents(store)
    ((rows,),) = await store._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text("SELECT count(*) FROM events")
    )
    await store.rebuild()
    assert await derived_table_contents(store) == kept
    await store.aclose()
    return rows
