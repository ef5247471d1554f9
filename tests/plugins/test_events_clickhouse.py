"""ClickHouse without transactions: repeated batches count once, and interrupted appends are completed."""

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.clickhouse import append, ddl
from plugins.events_sql.dialects.clickhouse.compiler import (
    CREATE_TEMP_TABLE,
    STATEMENT_SEPARATOR,
    ClickHouseDialect,
)
from plugins.events_sql.execution.statement_cache import StatementCache
from plugins.events_sql.schema.store_version import INSERT_VERSION
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.settings import ClickHouseSettings
from plugins.events_sql.writes.append_statements import SELECT_BATCH_SESSION_ROWS
from service_core.analytics.measures import count_rows
from service_core.analytics.ports import AggregateQuery
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.plugin import EventColumns, Relation
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.random_datasets import random_dataset
from tests.fixtures.clickhouse_in_process import open_in_process_store

SPAN = whole_utc_days("2026-01-01", "2026-12-31")
DERIVED_TABLES = (
    *("sessions", "touch_candidates", "reported_touches", "weak_links"),
    *("visitor_id_pairs", "email_digests", "visitor_owners", "person_merges"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = open_in_process_store(tmp_path_factory.mktemp("clickhouse"))
    asyncio.run(store.start())
    yield store
    asyncio.run(store.aclose())


async def derived_table_rows(store) -> dict[str, list[str]]:
    """Returns the current derived rows, without the versions that they replaced."""
    request = {table: f"SELECT * EXCEPT (version, is_deleted) FROM {table}" for table in DERIVED_TABLES}
    return {
        table: sorted(
            map(
                repr,
                await store._engine.run_read_within_time_budget(
                    lambda reader, text=text: reader.execute_text(text, {})
                ),
            )
        )
        for table, text in request.items()
    }


async def count_stored_events(store, story: EventBuilder) -> int:
    plan = AggregateQuery(story.query_scope(SPAN, include_bots=True), (count_rows(Relation.EVENTS),))
    return (await store.aggregate(plan)).rows[0][0]


@pytest.mark.clickhouse
async def test_append_adds_nothing_when_a_batch_is_sent_again(store):
    story = random_dataset(Random(7), 40).builder
    assert await store.append(story.events) == len(story.events)
    before = await derived_table_rows(store)
    assert await store.append(story.events) == 0
    assert await derived_table_rows(store) == before
    assert await count_stored_events(store, story) == len(story.events)


@pytest.mark.clickhouse
async def test_append_makes_each_event_of_columns_once_for_several_workspaces(store, monkeypatch):
    events = [event for seed in range(3) for event in random_dataset(Random(seed), 5).builder.events]
    made = []
    make_event = EventColumns._build_event_at

    def record_place(columns, place):
        made.append(place)
        return make_event(columns, place)

    monkeypatch.setattr(EventColumns, "_build_event_at", record_place)
    assert await store.append(EventColumns.of_events(events)) == len(events)
    assert sorted(made) == list(range(len(events)))


@pytest.mark.clickhouse
async def test_derived_rows_equal_a_rebuild_after_appends_in_batches(store):
    events = list(random_dataset(Random(5), 60).builder.events)
    Random(5).shuffle(events)
    for first in range(0, len(events), 20):
        await store.append(events[first : first + 20])
    kept = await derived_table_rows(store)
    await store.rebuild()
    assert await derived_table_rows(store) == kept


@pytest.mark.clickhouse
async def test_store_of_another_version_is_refused(store):
    await store._engine.run_write_to_its_end(
        lambda writer: writer.execute_text("TRUNCATE TABLE store_version")
    )
    refused = SqlEventStore(store.backend)
    with pytest.raises(StartupError, match="another version of Touchpoint"):
        await refused.start()
    await store._engine.run_write_to_its_end(lambda writer: writer.execute_text(INSERT_VERSION))
    await refused.start()
    await refused.aclose()


@pytest.mark.clickhouse
async def test_row_inserted_by_two_writers_counts_once_before_parts_are_merged(store):
    story = random_dataset(Random(9), 20).builder
    await store.append(story.events)
    rows = [append._event_row(event, event.received_at) for event in story.events]
    await store._engine.run_write_to_its_end(
        lambda writer: append.insert_block(writer, EVENTS, rows, "another block")
    )
    assert await count_stored_events(store, story) == len(story.events)


@pytest.mark.clickhouse
async def test_interrupted_append_is_completed_when_the_batch_is_sent_again(store):
    story = random_dataset(Random(21), 40).builder
    rows = [append._event_row(event, event.received_at) for event in story.events]
    await store._engine.run_write_to_its_end(
        lambda writer: append.insert_block(writer, EVENTS, rows, "cut short")
    )
    assert await store.append(story.events) == 0
    kept = await derived_table_rows(store)
    await store.rebuild()
    assert await derived_table_rows(store) == kept


def test_cluster_tables_are_replicated_and_sharded_by_workspace():
    texts = list(ddl.create_if_missing_statements("shop"))
    made = [text for text in texts if text.startswith("CREATE")]
    local, spread = made[::2], made[1::2]
    assert len(local) == len(spread) == 16
    assert all("ReplicatedReplacingMergeTree" in text and "ON CLUSTER shop" in text for text in local)
    assert all("Distributed(shop, currentDatabase()" in text for text in spread)
    assert (
        sum("cityHash64(workspace_id)" in text for text in spread) == 14
    )  # all but the version of the tables and the starts of their history
    version, start = [text for text in texts if text not in made]
    assert (version, start.split(" SELECT ")[0]) == (INSERT_VERSION, "INSERT INTO recording_starts")


def test_values_are_bound_parameters_and_never_part_of_the_text():
    text, values = StatementCache(ClickHouseDialect()).render_from_cache(SELECT_BATCH_SESSION_ROWS)
    assert all(f"{{{name}:" in text for name in values)


def test_cte_becomes_a_temporary_table_before_the_statement():
    shared = sa.select(EVENTS.c.seq).where(EVENTS.c.seq > 7).cte("shared")
    again = sa.select(shared.c.seq).where(shared.c.seq < 9)
    text, _ = StatementCache(ClickHouseDialect()).render_from_cache(sa.select(shared.c.seq).union_all(again))
    step, last = text.split(STATEMENT_SEPARATOR)
    assert step.startswith(f"{CREATE_TEMP_TABLE}shared AS")
    assert last.count("FROM shared") == 2
    assert "WITH" not in text


def test_offset_without_limit_is_rendered_without_limit():
    text, _ = StatementCache(ClickHouseDialect()).render_from_cache(sa.select(EVENTS.c.seq).offset(2))
    assert "LIMIT" not in text
    assert "OFFSET" in text


@pytest.mark.parametrize(
    "url", ["clickhouse://here", "clickhouse:///events", "clickhouse://here/db?cluster=a-b"]
)
def test_url_without_database_stops_the_start(url):
    with pytest.raises(StartupError):
        collect_plugins_into_registry().open_adapter("events", url, base_folder=Path())


async def test_server_that_is_not_there_stops_the_start():
    store = collect_plugins_into_registry().open_adapter(
        "events", "clickhouse://127.0.0.1:1/events?connect_seconds=1", base_folder=Path()
    )
    with pytest.raises(StartupError, match="cannot be used"):
        await store.start()
    await store.aclose()


def test_settings_are_parsed_from_the_url():
    values = {
        "url": "clickhouse://here/db",
        "host": "here",
        "path": "db",
        "secure": "true",
        "cluster": "shop",
    }
    settings = ClickHouseSettings.model_validate(values)
    assert (settings.database, settings.secure, settings.cluster) == ("db", True, "shop")


async def test_superseded_event_is_removed_without_a_rebuild_of_its_workspace(store, monkeypatch):
    """A rebuild would come with every order that both a page and its server report."""
    builder = EventBuilder()
    builder.add_event("page_view", at="2026-03-02T10:00", visitor="A1", source="web")
    claimed = builder.add_event(
        "purchase", at="2026-03-02T10:05", visitor="A1", strong_id="U2", source="web", revenue=1,
        event_data={"email": "b@example.com"},
    )  # fmt: skip
    real = replace(
        claimed, seq=claimed.seq + 100, source="api", visitor_id="B1", strong_id="U1", session_id="other",
        event_data={},
    )  # fmt: skip
    monkeypatch.setattr(append, "rebuild_workspace", refuse_rebuild)
    assert await store.append(builder.events) == 2
    assert await store.append([real]) == 1
    monkeypatch.undo()
    kept = await derived_table_rows(store)
    await store.rebuild_workspace(builder.workspace_id)
    rebuilt = await derived_table_rows(store)
    for table in ("sessions", "touch_candidates", "weak_links", "email_digests", "visitor_owners"):
        assert kept[table] == rebuilt[table], table


def refuse_rebuild(_writer, _workspace):
    raise AssertionError("the whole workspace was rebuilt")
