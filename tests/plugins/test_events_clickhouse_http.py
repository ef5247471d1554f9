"""ClickHouse over HTTP: rejected connections, time budgets, cancelled reads and a server that stops."""

import asyncio
from pathlib import Path
from random import Random
from time import monotonic
from unittest.mock import Mock
from uuid import UUID

import pytest

from plugins.events_sql.dialects.clickhouse import append
from plugins.events_sql.execution import engine_watchdog
from plugins.events_sql.schema.tables import EVENTS
from service_core.analytics.measures import count_rows
from service_core.analytics.ports import AggregateQuery
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.plugin import QueryTimeout, Relation, StoreUnavailable
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.random_datasets import random_dataset
from tests.fixtures.clickhouse_http_server import DATABASE, PASSWORD, serve_clickhouse

pytestmark = pytest.mark.clickhouse
SPAN = whole_utc_days("2025-01-01", "2026-12-31")
SLOW = "SELECT sum(sleepEachRow(0.05)) FROM numbers(4000) SETTINGS max_block_size = 1"
DEADLINE = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clickhouse")


@pytest.fixture(scope="module")
def server(folder):
    with serve_clickhouse(folder) as server:
        yield server


@pytest.fixture
async def store(server):
    store = collect_plugins_into_registry().open_adapter("events", server.url, base_folder=Path())
    await store.start()
    yield store
    await store.aclose()


async def count_stored_events(store, story: EventBuilder) -> int:
    plan = AggregateQuery(story.query_scope(SPAN, include_bots=True), (count_rows(Relation.EVENTS),))
    return (await store.aggregate(plan)).rows[0][0]


async def until(met, what: str) -> None:
    """Waits until a condition holds."""
    end = monotonic() + DEADLINE
    while not await met():
        assert monotonic() < end, what
        await asyncio.sleep(0.02)


async def test_wrong_password_stops_the_start_without_appearing_in_the_message(server):
    wrong = f"clickhouse://ada:not-this-one@127.0.0.1:{server.server_port}/{DATABASE}"
    store = collect_plugins_into_registry().open_adapter("events", wrong, base_folder=Path())
    with pytest.raises(StartupError, match="Authentication failed") as refused:
        await store.start()
    assert "not-this-one" not in str(refused.value)
    assert PASSWORD not in str(refused.value)
    await store.aclose()


async def test_missing_database_stops_the_start(server):
    store = collect_plugins_into_registry().open_adapter(
        "events", server.url.replace(DATABASE, "elsewhere"), base_folder=Path()
    )
    with pytest.raises(StartupError, match="elsewhere"):
        await store.start()
    await store.aclose()


async def test_values_are_sent_in_the_body_and_never_in_the_url(store, server):
    story = random_dataset(Random(3), 30).builder
    await store.append(story.events)
    server.requests.clear()
    assert await count_stored_events(store, story) == len(story.events)
    assert server.requests
    assert not any("param_" in path or str(story.workspace_id) in path for path in server.requests)


async def test_block_is_ignored_when_sent_again_after_a_lost_response(store):
    story = random_dataset(Random(4), 30).builder
    rows = [append._event_row(event, event.received_at) for event in story.events]
    for token in ("first", "first", "second"):
        await store._engine.run_write_to_its_end(
            lambda writer, token=token: append.insert_block(
                writer, EVENTS, rows, f"{story.workspace_id}{token}"
            )
        )
    text = f"SELECT count() FROM events WHERE workspace_id = '{story.workspace_id}' SETTINGS final = 0"
    ((blocks,),) = await store._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text(text, {})
    )
    assert blocks == 2 * len(rows), "the same token once, another one as well"
    assert await count_stored_events(store, story) == len(rows)


async def test_server_cancels_a_read_past_its_time_budget(store):
    session = store.backend.open_session(timeout_seconds=0.3)
    with pytest.raises(QueryTimeout):
        await asyncio.to_thread(session.fetch_rows, SLOW, {})
    with pytest.raises(QueryTimeout):
        await asyncio.to_thread(session.create_temp_table, "kept", SLOW, {})
    await asyncio.to_thread(session.close)


async def test_read_with_a_cancelled_caller_is_killed_on_the_server(store):
    async def running() -> bool:
        text = (
            "SELECT query FROM system.processes WHERE query LIKE '%sleepEachRow%' AND query NOT LIKE '%LIKE%'"
        )
        return bool(
            await store._engine.run_read_within_time_budget(lambda reader: reader.execute_text(text, {}))
        )

    async def ended() -> bool:
        return not await running()

    request = asyncio.create_task(
        store._engine.run_read_within_time_budget(lambda reader: reader.execute_text(SLOW, {}))
    )
    await until(running, "the question runs")
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    await until(ended, "the server runs it no more")


async def test_engine_errors_become_store_errors(store):
    with pytest.raises(StoreUnavailable):
        await store._engine.run_read_within_time_budget(
            lambda reader: reader.execute_text("SELECT nothing FROM nowhere", {})
        )


async def test_session_drops_its_temporary_tables(store):
    workspace = UUID(int=7)

    def keep(reader) -> None:
        reader.lazily_opened_session.create_temp_table(
            "kept", "(SELECT {workspace:UUID} AS workspace_id)", {"workspace": workspace}
        )
        assert reader.execute_text("SELECT workspace_id FROM kept", {}) == [(workspace,)]

    await store._engine.run_read_within_time_budget(keep)
    with pytest.raises(StoreUnavailable):
        await store._engine.run_read_within_time_budget(
            lambda reader: reader.execute_text("SELECT workspace_id FROM kept", {})
        )


async def test_stopped_server_is_unavailable_until_it_is_back(server, folder):
    story = random_dataset(Random(5), 20).builder
    with serve_clickhouse(folder) as away:
        store = collect_plugins_into_registry().open_adapter("events", away.url, base_folder=Path())
        await store.start()
        await store.append(story.events)
    with pytest.raises(StoreUnavailable) as refused:
        await count_stored_events(store, story)
    assert refused.value.status == 503
    with pytest.raises(StoreUnavailable):
        await store.append(story.events)
    with serve_clickhouse(folder, away.server_port):
        assert await count_stored_events(store, story) == len(story.events)
        assert await store.append(story.events) == 0
        await store.aclose()


async def test_hanging_server_is_reported_before_the_time_budget_ends(folder, monkeypatch):
    """Reads that wait for a free thread fail too: there is one reader."""
    monkeypatch.setattr(engine_watchdog, "POLL_SECONDS", 0.1)
    story = random_dataset(Random(6), 20).builder
    with serve_clickhouse(folder) as server:
        store = collect_plugins_into_registry().open_adapter(
            "events", f"{server.url}&connect_seconds=2&readers=1", base_folder=Path()
        )
        await store.start()
        await store.append(story.events)
        server.going.clear()
        requests = [asyncio.create_task(count_stored_events(store, story)) for _ in range(3)]
        _, waiting = await asyncio.wait(requests, timeout=DEADLINE)
        server.going.set()
        assert not waiting
        assert [type(each.exception()) for each in requests] == [StoreUnavailable] * 3
        assert await count_stored_events(store, story) == len(story.events)
        await store.aclose()


@pytest.fixture
def short_poll_interval(monkeypatch):
    """Polls the server at a short interval; requested before the store, which starts to poll when it opens."""
    monkeypatch.setattr(engine_watchdog, "POLL_SECONDS", 0.02)


@pytest.mark.usefixtures("short_poll_interval")
async def test_long_read_on_a_responsive_server_is_not_cancelled(store, monkeypatch):
    request = Mock(side_effect=store.backend.ping)
    monkeypatch.setattr(store._engine._watchdog, "_ping", request)
    async with asyncio.timeout(DEADLINE):
        while not request.called:
            assert await store._engine.run_read_within_time_budget(
                lambda reader: reader.execute_text("SELECT sleep(0.3)", {})
            ) == [(0,)]
