"""Time budgets, cancelled callers and unresponsive servers: reads fail in time, and no thread is lost."""

import asyncio
import socket
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb.backend import DuckDbBackend
from plugins.events_sql.execution import engine_watchdog
from plugins.events_sql.settings import DuckDbSettings
from service_core.analytics.ports import QueryTimeout, StoreUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.postgres_server import PostgresServer
from service_core.testing.random_datasets import random_dataset
from tests.plugins.events_sql.conftest import count_stored_events

SLOW = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE hash(a.range, b.range) = 1"
HELD = "SELECT pg_sleep(300)"


@pytest.fixture
async def one_reader_store(tmp_path: Path):
    """Yields a store with a single reader thread."""
    settings = DuckDbSettings(url="duckdb://", path=tmp_path / "e.db", timeout_seconds=300, readers=1)
    store = SqlEventStore(DuckDbBackend(settings))
    await store.start()
    yield store
    await store.aclose()


async def assert_query_times_out(store: SqlEventStore, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a long statement with a small time budget and check that it is cancelled."""
    with monkeypatch.context() as hasty:
        hasty.setattr(store._engine, "_timeout", 0.2)
        with pytest.raises(QueryTimeout):
            await asyncio.wait_for(
                store._engine.run_read_within_time_budget(lambda reader: reader.execute_text(text)), 100
            )


async def test_read_past_its_time_budget_is_cancelled_in_the_engine(
    one_reader_store: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await assert_query_times_out(one_reader_store, SLOW, monkeypatch)
    assert await one_reader_store._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text("SELECT 1")
    ) == [(1,)]


async def test_cancelled_caller_frees_its_thread(one_reader_store: SqlEventStore) -> None:
    begun = threading.Event()
    request = asyncio.ensure_future(
        one_reader_store._engine.run_read_within_time_budget(
            lambda reader: begun.set() or reader.execute_text(SLOW)
        )
    )
    assert await asyncio.to_thread(begun.wait, 30)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await one_reader_store._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text("SELECT 1")
    ) == [(1,)]


async def test_heavy_read_delays_neither_appends_nor_other_reads(duckdb: SqlEventStore) -> None:
    story = random_dataset(Random(17)).builder
    heavy = [
        asyncio.ensure_future(
            duckdb._engine.run_read_within_time_budget(lambda reader: reader.execute_text(SLOW))
        )
        for _ in range(3)
    ]
    async with asyncio.timeout(100):
        assert await duckdb.append(story.events) == len(story.events)
        assert await count_stored_events(duckdb, story) == len(story.events)
    assert not any(request.done() for request in heavy)
    for request in heavy:
        request.cancel()
    await asyncio.gather(*heavy, return_exceptions=True)


async def wait_for_open_connections(postgresql: SqlEventStore, number: int) -> None:
    """Waits until a number of connections of this database run a statement."""
    text = (
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = %s"
    )
    async with asyncio.timeout(60):
        with closing(postgresql.backend.open_connection()) as connection:
            while len(connection.execute(text, [HELD]).fetchall()) != number:
                await asyncio.sleep(0.01)


async def test_postgresql_cancels_a_read_past_its_time_budget(
    postgresql: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await assert_query_times_out(postgresql, HELD, monkeypatch)
    await wait_for_open_connections(postgresql, 0)


async def test_cancelled_caller_frees_its_connection(postgresql: SqlEventStore) -> None:
    requests = [
        asyncio.ensure_future(postgresql._engine.run_read_within_time_budget(lambda r: r.execute_text(HELD)))
        for _ in range(2)
    ]
    await wait_for_open_connections(postgresql, 2)
    for one in requests:
        one.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
    await wait_for_open_connections(postgresql, 0)
    assert await postgresql._engine.run_read_within_time_budget(
        lambda reader: reader.execute_text("SELECT 1")
    ) == [(1,)]


async def test_reads_fail_in_time_when_the_server_hangs(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = collect_plugins_into_registry().open_adapter("events", postgres_server.url, base_folder=Path())
    await store.start()
    story = random_dataset(Random(29)).builder
    assert await count_stored_events(store, story) == 0
    postgres_server.suspend()
    await assert_query_times_out(store, "SELECT 1", monkeypatch)
    postgres_server.resume()
    assert await count_stored_events(store, story) == 0
    await store.aclose()


async def test_unresponsive_server_is_reported_before_the_time_budget_ends(
    postgres_server: PostgresServer,
) -> None:
    """Reads that wait for a free thread fail too: there are two readers."""
    url = f"{postgres_server.url}?timeout_seconds=300&connect_seconds=2&readers=2"
    store = collect_plugins_into_registry().open_adapter("events", url, base_folder=Path())
    await store.start()
    story = random_dataset(Random(31)).builder
    assert await count_stored_events(store, story) == 0
    postgres_server.suspend()
    for _ in range(2):  # on connections that were there, and without any
        requests = [asyncio.create_task(count_stored_events(store, story)) for _ in range(6)]
        requests.append(asyncio.create_task(store.append(story.events)))
        _, waiting = await asyncio.wait(requests, timeout=60)
        assert not waiting
        assert [type(each.exception()) for each in requests] == [StoreUnavailable] * 7
    postgres_server.resume()
    assert await store.append(story.events) == len(story.events)
    postgres_server.suspend()
    left = asyncio.create_task(store.append(story.events))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.wait_for(store.aclose(), 60)


async def test_long_read_on_a_responsive_server_is_not_cancelled(
    postgresql: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_watchdog, "POLL_SECONDS", 0.02)
    request = Mock(side_effect=postgresql.backend.ping)
    monkeypatch.setattr(postgresql._engine._watchdog, "_ping", request)
    text = "SELECT pg_sleep(0.4)"
    async with asyncio.timeout(60):
        while not request.called:
            assert (
                len(
                    await postgresql._engine.run_read_within_time_budget(
                        lambda reader: reader.execute_text(text)
                    )
                )
                == 1
            )


def test_connections_to_a_lost_machine_have_keepalives(postgresql: SqlEventStore) -> None:
    with (
        closing(postgresql.backend.open_connection()) as connection,
        socket.socket(fileno=connection.fileno()) as used,
    ):
        reported = [
            used.getsockopt(socket.IPPROTO_TCP, kind)
            for kind in (socket.TCP_USER_TIMEOUT, socket.TCP_KEEPIDLE)
        ]
        used.detach()
    assert reported == [5_000, 30]
