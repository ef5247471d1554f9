"""Append: batches are stored once, and derived tables equal a rebuild, with concurrent writers too."""

import asyncio
import dataclasses
from pathlib import Path
from random import Random

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb import compaction
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.writes.append import transactional_session
from service_core.analytics.measures import Predicate, property_column
from service_core.analytics.ports import EventPageQuery
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import StartupError
from service_core.testing.event_builder import EventBuilder
from service_core.testing.random_datasets import random_dataset
from tests.plugins.events_sql.conftest import SPAN, count_stored_events, derived_table_contents


@pytest.mark.parametrize("seed", range(4))
async def test_derived_tables_equal_a_rebuild_after_appends_in_batches(
    store: SqlEventStore, seed: int
) -> None:
    random = Random(seed)
    events = list(random_dataset(random, 120).builder.events)
    random.shuffle(events)
    while events:
        size = random.randint(1, 40)
        await store.append(events[:size])
        del events[:size]
    kept = await derived_table_contents(store)
    await store.rebuild()
    assert await derived_table_contents(store) == kept


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize(
    "change", ["DROP TABLE store_version", "UPDATE store_version SET version = version + 1"]
)
async def test_store_of_another_version_is_refused(
    engine: str, change: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = "duckdb:///events.db" if engine == "duckdb" else request.getfixturevalue("postgres_url")

    def change_version(writer: StatementRunner) -> None:
        with transactional_session(writer).exclusive_write_transaction():
            writer.execute_text(change)

    for _ in range(2):
        store = collect_plugins_into_registry().open_adapter("events", url, base_folder=tmp_path)
        await store.start()
        await store.append(random_dataset(Random(3)).builder.events)
        await store.aclose()
    last = collect_plugins_into_registry().open_adapter("events", url, base_folder=tmp_path)
    await last.start()
    await last._engine.run_write_to_its_end(change_version)
    await last.aclose()
    refused = collect_plugins_into_registry().open_adapter("events", url, base_folder=tmp_path)
    with pytest.raises(StartupError, match=r"another version of Touchpoint.*touchpoint move"):
        await refused.start()
    await refused.aclose()


async def test_append_adds_nothing_when_a_batch_is_sent_again(store: SqlEventStore) -> None:
    story = random_dataset(Random(7)).builder
    assert await store.append(story.events) == len(story.events)
    before = await derived_table_contents(store)
    assert await store.append(story.events) == 0
    assert await derived_table_contents(store) == before
    assert await count_stored_events(store, story) == len(story.events)


async def test_append_stores_an_event_once_that_is_twice_in_a_batch(store: SqlEventStore) -> None:
    story = EventBuilder()
    story.add_event("page_view", at="2026-03-02", visitor="A1")
    assert await store.append([*story.events, *story.events]) == 1


async def test_compaction_sorts_rows_and_changes_no_result(duckdb: SqlEventStore) -> None:
    story = random_dataset(Random(11), 200).builder
    await duckdb.append(story.events)
    page = EventPageQuery(story.query_scope(SPAN, include_bots=True), 1000)
    before = await derived_table_contents(duckdb), await duckdb.list_events(page)
    await duckdb._engine.run_write_to_its_end(
        lambda writer: compaction.sort_due_months_and_checkpoint(writer, min_appended_rows=1)
    )
    assert (await derived_table_contents(duckdb), await duckdb.list_events(page)) == before
    places = "SELECT workspace_id, timestamp FROM events ORDER BY rowid"
    rows = await duckdb._engine.run_read_within_time_budget(lambda reader: reader.execute_text(places))
    months = [(at.year, at.month) for _, at in rows]
    assert all(a <= b for a, b, m, n in zip(rows, rows[1:], months, months[1:], strict=False) if m == n)


async def test_maintenance_updates_statistics_of_every_table_in_postgresql(
    postgresql: SqlEventStore,
) -> None:
    await postgresql.append(random_dataset(Random(17)).builder.events)
    await postgresql.maintain()
    result = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = current_schema()"
    found = await postgresql._engine.run_read_within_time_budget(lambda reader: reader.execute_text(result))
    assert {name for (name,) in found} >= {"events", "id_numbers", "sessions", "touch_candidates"}


async def test_results_are_unchanged_after_reopening_the_file(tmp_path: Path) -> None:
    story = random_dataset(Random(13)).builder
    for expected in (len(story.events), 0):
        store = collect_plugins_into_registry().open_adapter(
            "events", "duckdb:///events.db", base_folder=tmp_path
        )
        await store.start()
        assert await store.append(story.events) == expected
        assert await count_stored_events(store, story) == len(story.events)
        await store.aclose()


async def test_two_stores_append_to_one_database_concurrently(postgres_url: str) -> None:
    stores = [
        collect_plugins_into_registry().open_adapter("events", postgres_url, base_folder=Path())
        for _ in range(2)
    ]
    await asyncio.gather(*(store.start() for store in stores))
    story = random_dataset(Random(19)).builder
    added = await asyncio.gather(*(store.append(story.events) for store in stores))
    assert sorted(added) == [0, len(story.events)]
    kept = await derived_table_contents(stores[0])
    await stores[1].rebuild()
    assert await derived_table_contents(stores[1]) == kept
    for store in stores:
        await store.aclose()


async def test_filter_values_are_never_part_of_the_sql_text(store: SqlEventStore) -> None:
    story = EventBuilder()
    story.add_event("page_view", at="2026-03-02", visitor="A1", page_path="/it's")
    await store.append(story.events)
    for column, value in (
        ("page_path", "/it's"),
        ("page_path", "' OR 1=1 --"),
        (property_column("a'].b\"c"), "x"),
    ):
        scan = dataclasses.replace(story.query_scope(SPAN), filters=(Predicate(column, value=value),))
        expected = 1 if value == "/it's" else 0
        assert (await store.list_events(EventPageQuery(scan, 10))).total == expected


async def test_filters_with_nul_characters_match_nothing(store: SqlEventStore) -> None:
    story = EventBuilder()
    story.add_event("page_view", at="2026-03-02", visitor="A1", page_path="/a")
    await store.append(story.events)
    scan = dataclasses.replace(story.query_scope(SPAN), filters=(Predicate("page_path", value="/a\0"),))
    assert (await store.list_events(EventPageQuery(scan, 10))).total == 0
