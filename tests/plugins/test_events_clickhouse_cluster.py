"""A ClickHouse cluster returns the results of one server: local shards with distributed tables.

Replication needs Keeper, which the in-process engine lacks: each shard is a table that is not replicated, and the
statements run without ``ON CLUSTER``.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.clickhouse import append, backend, ddl, deletion
from plugins.events_sql.dialects.clickhouse.backend import ClickHouseBackend
from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    EVENTS,
    ID_NUMBERS,
    PERSON_MERGES,
    REVOKED_LINKS,
    SUPERSEDED_EVENTS,
)
from service_core.ingestion.models import SupersededEvent
from service_core.testing import random_queries
from service_core.testing.event_store.differential import (
    assert_same_answer_as_reference,
    counts_by_path,
    sizes_and_non_empty_cells,
)
from service_core.testing.event_store.golden_numbers import GoldenNumbers
from service_core.testing.event_store.kit import EventStoreKit, Store
from service_core.testing.random_datasets import random_dataset
from tests.fixtures.clickhouse_in_process import in_process_connect, in_process_settings

pytestmark = pytest.mark.clickhouse

NEVER = datetime(2200, 1, 1, tzinfo=UTC)
CONFIG = """<clickhouse><tcp_port>9000</tcp_port><remote_servers><shop>
<shard><internal_replication>true</internal_replication>
<replica><host>localhost</host><port>9000</port></replica></shard>
</shop></remote_servers></clickhouse>"""

WITHOUT_KEEPER = {
    " ON CLUSTER shop": "",
    "ReplicatedReplacingMergeTree": "ReplacingMergeTree",
    " replicated_deduplication_window": " non_replicated_deduplication_window",
}


PARSED: list[str] = []
"""Statements for the whole cluster that a store sent and the engine parsed as they were sent."""


class UnreplicatedClient:
    """A client that lets the engine parse each statement for the whole cluster, and runs it without what needs Keeper."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def command(self, text: str, **fields: Any) -> Any:
        return self._client.command(self._parse_and_unreplicate(text), **fields)

    def query(self, text: str, *arguments: Any, **fields: Any) -> Any:
        return self._client.query(self._parse_and_unreplicate(text), *arguments, **fields)

    def _parse_and_unreplicate(self, text: str) -> str:
        if " ON CLUSTER " not in text:
            return text
        tree = self._client.query(f"EXPLAIN AST {text}").result_rows
        assert tree[0][0].startswith(("CreateQuery", "AlterQuery")), text
        PARSED.append(text)
        for part, instead in WITHOUT_KEEPER.items():
            text = text.replace(part, instead)
        return text


def open_cluster_store(connect: Callable[[], Any]) -> SqlEventStore:
    return SqlEventStore(
        ClickHouseBackend(in_process_settings(cluster="shop"), lambda: UnreplicatedClient(connect()))
    )


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    """Connects to the one engine that this process can have."""
    folder = tmp_path_factory.mktemp("cluster")
    config = folder / "config.xml"
    config.write_text(CONFIG)
    return in_process_connect(folder / "data", **{"config-file": str(config)})


@pytest.fixture(scope="module")
def cluster(connect):
    store = open_cluster_store(connect)
    asyncio.run(store.start())
    yield store
    asyncio.run(store.aclose())


class TestCluster(GoldenNumbers):
    @pytest.fixture
    def store(self, cluster):
        return cluster


class TestClusterAgrees(EventStoreKit):
    @pytest.fixture
    def store(self, cluster):
        return cluster

    async def test_cluster_returns_the_results_of_one_server(self, store: Store, oracle: Store) -> None:
        drawn, random = random_dataset(Random(8), 50), Random(8)
        for batch in (drawn.builder.events[:20], drawn.builder.events[20:]):
            for request in (store, oracle):
                assert await request.append(batch) == len(batch)
        for _ in range(3):
            await assert_same_answer_as_reference(
                store, oracle, "aggregate", random_queries.random_aggregate_query(random, drawn)
            )
        await assert_same_answer_as_reference(
            store,
            oracle,
            "list_distinct_touch_paths_with_counts",
            random_queries.random_touch_path_query(random, drawn),
            normalize=counts_by_path,
        )
        await assert_same_answer_as_reference(
            store,
            oracle,
            "read_cohorts",
            random_queries.random_cohort_query(random, drawn),
            normalize=sizes_and_non_empty_cells,
        )
        await assert_same_answer_as_reference(
            store, oracle, "read_funnel", random_queries.random_funnel_query(random, drawn)
        )
        await assert_same_answer_as_reference(
            store, oracle, "list_people_and_total", random_queries.random_people_page_query(random, drawn)
        )
        await assert_same_answer_as_reference(
            store, oracle, "list_events", random_queries.random_event_page_query(random, drawn)
        )


async def test_distributed_inserts_reach_the_tables_of_the_shard(cluster):
    story = random_dataset(Random(4), 30).builder
    assert await cluster.append(story.events) == len(story.events)
    assert await cluster.append(story.events) == 0
    request = "SELECT count() FROM {} WHERE workspace_id = '{}'"
    for table in ("events", "events_local"):
        text = request.format(table, story.workspace_id)
        rows = await cluster._engine.run_read_within_time_budget(
            lambda reader, text=text: reader.execute_text(text, {})
        )
        assert rows == [(len(story.events),)]
    engines = "SELECT name, engine FROM system.tables WHERE database = 'default' AND NOT is_temporary"
    kinds = dict(
        await cluster._engine.run_read_within_time_budget(lambda reader: reader.execute_text(engines, {}))
    )
    assert {kinds[table.name] for table in ddl._SORTING_KEYS} == {"Distributed"}
    assert {kinds[f"{table.name}_local"] for table in ddl._SORTING_KEYS} == {"ReplacingMergeTree"}


async def test_shard_ignores_a_block_sent_twice(cluster):
    story = random_dataset(Random(6), 30).builder
    rows = [append._event_row(event, event.received_at) for event in story.events]
    for _ in range(2):
        await cluster._engine.run_write_to_its_end(
            lambda writer: append.insert_block(writer, EVENTS, rows, str(story.workspace_id))
        )
    text = f"SELECT count() FROM events WHERE workspace_id = '{story.workspace_id}' SETTINGS final = 0"
    assert await cluster._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text(text, {})
    ) == [(len(rows),)]


async def test_engine_parses_every_statement_for_the_whole_cluster_that_the_store_sends(cluster):
    """A statement of a kind or of a table that no test sends fails here."""
    story = random_dataset(Random(9), 60).builder
    workspace, events = story.workspace_id, [replace(each, ip="203.0.113.9") for each in story.events]
    claimed = replace(events[0], seq=events[0].seq + 10**6, event_id="claimed")
    await cluster.append(events)
    await cluster.store_superseded_events([SupersededEvent(claimed, claimed.seq + 1)])
    await cluster._engine.run_write_to_its_end(
        lambda writer: append.insert_block(
            writer, REVOKED_LINKS, [[str(workspace), events[0].event_id, events[0].received_at]], "revoked"
        )
    )
    assert await cluster.truncate_addresses(NEVER) >= len(events)
    await cluster.update_enriched_columns(workspace, events)
    await cluster.rebuild_workspace(workspace)
    await cluster.delete_events(workspace, [event.seq for event in events[:30]])
    await cluster.delete_events_before(workspace, NEVER)
    sent = {(" ".join(text.split()[:2]), text.split(" ON CLUSTER ")[0].split()[-1]) for text in PARSED}
    names = {table.name for table in ddl._SORTING_KEYS}
    assert {name for kind, name in sent if kind == "CREATE TABLE"} == names | {
        f"{name}_local" for name in names
    }
    assert {kind for kind, _ in sent} == {"CREATE TABLE", "ALTER TABLE"}
    assert {name for kind, name in sent if kind == "ALTER TABLE"} == {
        f"{table.name}_local"
        for table in (
            EVENTS,
            SUPERSEDED_EVENTS,
            REVOKED_LINKS,
            EMAIL_DIGESTS,
            PERSON_MERGES,
            ID_NUMBERS,
            *deletion._VISITOR_TABLES,
        )
    }
    rows = await cluster._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text(
            f"SELECT count() FROM events WHERE workspace_id = '{workspace}'", {}
        )
    )
    assert rows == [(0,)]


def test_only_two_functions_send_statements_for_the_whole_cluster():
    sources = {path: path.read_text() for path in Path(ddl.__file__).parent.rglob("*.py")}
    found = {
        path.name: text.count("ON CLUSTER {") for path, text in sources.items() if "ON CLUSTER {" in text
    }
    assert found == {"ddl.py": 2, "deletion.py": 1}


def test_engine_knows_the_settings_of_quorum_and_distribution(connect):
    """Known and of the right type, and never exercised: one engine in one process has no replicas."""
    client = connect()
    for name, value in backend._CLUSTER_SETTINGS.items():
        assert client.query(f"SELECT 1 SETTINGS {name} = '{value}'").result_rows == [(1,)]
    with pytest.raises(Exception, match="insert_quorums"):
        client.query("SELECT 1 SETTINGS insert_quorums = 'auto'")


def test_engine_parses_the_statements_that_make_a_replicated_cluster(connect):
    """Only parsed: replication and ``ON CLUSTER`` need Keeper, which the engine in this process lacks."""
    client = connect()
    texts = [text for text in ddl.create_if_missing_statements("shop") if text.startswith("CREATE")]
    for text in texts:
        tree = client.query(f"EXPLAIN AST {text}").result_rows
        assert "CreateQuery" in tree[0][0], text
    with pytest.raises(Exception, match="Syntax error"):
        client.query(f"EXPLAIN AST {texts[0].replace(' ON CLUSTER ', ' ON CLUSTERS ')}")
