"""Questions past their budget, whoever goes away, and servers that answer nobody: all in time, and no thread is lost."""

import asyncio
import socket
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest

from plugins.events_sql import watch
from plugins.events_sql.adapter import SqlEvents
from plugins.events_sql.dialects.duckdb.backend import DuckDb
from plugins.events_sql.settings import DuckSettings
from service_core.extension.registry import load
from service_core.insight.ports import QueryTimeout, StoreUnavailable
from service_core.testing.generated import world
from service_core.testing.postgres_server import PostgresServer
from tests.plugins.events_sql.conftest import stored

SLOW = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE hash(a.range, b.range) = 1"
HELD = "SELECT pg_sleep(300)"


@pytest.fixture
async def narrow(tmp_path: Path):
    """A store with a single thread for questions."""
    settings = DuckSettings(url="duckdb://", path=tmp_path / "e.db", timeout_seconds=300, readers=1)
    store = SqlEvents(DuckDb(settings))
    await store.start()
    yield store
    await store.aclose()


async def cut_at_a_small_budget(store: SqlEvents, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask what takes long with a budget that is shorter than that of the other questions."""
    with monkeypatch.context() as hasty:
        hasty.setattr(store._engine, "_timeout", 0.2)
        with pytest.raises(QueryTimeout):
            await asyncio.wait_for(store._engine.read(lambda reader: reader.text(text)), 100)


async def test_a_question_past_its_budget_is_stopped_in_the_engine(
    narrow: SqlEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cut_at_a_small_budget(narrow, SLOW, monkeypatch)
    assert await narrow._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]


async def test_a_caller_that_goes_away_frees_its_thread(narrow: SqlEvents) -> None:
    begun = threading.Event()
    asked = asyncio.ensure_future(narrow._engine.read(lambda reader: begun.set() or reader.text(SLOW)))
    assert await asyncio.to_thread(begun.wait, 30)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await narrow._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]


async def test_a_heavy_question_keeps_neither_appends_nor_others_waiting(duckdb: SqlEvents) -> None:
    story = world(Random(17)).story
    heavy = [asyncio.ensure_future(duckdb._engine.read(lambda reader: reader.text(SLOW))) for _ in range(3)]
    async with asyncio.timeout(100):
        assert await duckdb.append(story.events) == len(story.events)
        assert await stored(duckdb, story) == len(story.events)
    assert not any(asked.done() for asked in heavy)
    for asked in heavy:
        asked.cancel()
    await asyncio.gather(*heavy, return_exceptions=True)


async def until_held(postgresql: SqlEvents, number: int) -> None:
    """Wait until so many questions are held in this database."""
    text = (
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = %s"
    )
    async with asyncio.timeout(60):
        with closing(postgresql.backend.connect()) as connection:
            while len(connection.execute(text, [HELD]).fetchall()) != number:
                await asyncio.sleep(0.01)


async def test_postgresql_stops_a_question_past_its_budget(
    postgresql: SqlEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cut_at_a_small_budget(postgresql, HELD, monkeypatch)
    await until_held(postgresql, 0)


async def test_a_caller_that_goes_away_frees_its_connection(postgresql: SqlEvents) -> None:
    asked = [asyncio.ensure_future(postgresql._engine.read(lambda r: r.text(HELD))) for _ in range(2)]
    await until_held(postgresql, 2)
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    await until_held(postgresql, 0)
    assert await postgresql._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]


async def test_a_server_that_hangs_is_an_answer_in_time(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = load().open("events", postgres_server.url, folder=Path())
    await store.start()
    story = world(Random(29)).story
    assert await stored(store, story) == 0
    postgres_server.hang()
    await cut_at_a_small_budget(store, "SELECT 1", monkeypatch)
    postgres_server.go_on()
    assert await stored(store, story) == 0
    await store.aclose()


async def test_a_server_that_answers_nobody_is_away_long_before_a_budget_ends(
    postgres_server: PostgresServer,
) -> None:
    """Whoever waits hears it, also behind others who wait: there are two readers."""
    url = f"{postgres_server.url}?timeout_seconds=300&connect_seconds=2&readers=2"
    store = load().open("events", url, folder=Path())
    await store.start()
    story = world(Random(31)).story
    assert await stored(store, story) == 0
    postgres_server.hang()
    for _ in range(2):  # on connections that were there, and without any
        asked = [asyncio.create_task(stored(store, story)) for _ in range(6)]
        asked.append(asyncio.create_task(store.append(story.events)))
        _, waiting = await asyncio.wait(asked, timeout=60)
        assert not waiting
        assert [type(each.exception()) for each in asked] == [StoreUnavailable] * 7
    postgres_server.go_on()
    assert await store.append(story.events) == len(story.events)
    postgres_server.hang()
    left = asyncio.create_task(store.append(story.events))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.wait_for(store.aclose(), 60)


async def test_a_long_question_to_a_server_that_works_is_not_cut(
    postgresql: SqlEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0.02)
    asked = Mock(side_effect=postgresql.backend.answers)
    monkeypatch.setattr(postgresql._engine._watch, "_answers", asked)
    text = "SELECT pg_sleep(0.4)"
    async with asyncio.timeout(60):
        while not asked.called:
            assert len(await postgresql._engine.read(lambda reader: reader.text(text))) == 1


def test_a_machine_that_is_gone_ends_its_connections(postgresql: SqlEvents) -> None:
    with (
        closing(postgresql.backend.connect()) as connection,
        socket.socket(fileno=connection.fileno()) as used,
    ):
        said = [
            used.getsockopt(socket.IPPROTO_TCP, kind)
            for kind in (socket.TCP_USER_TIMEOUT, socket.TCP_KEEPIDLE)
        ]
        used.detach()
    assert said == [5_000, 30]
