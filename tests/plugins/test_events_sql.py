"""The store over SQL: its caches, its settings, its budget, and what a replay or a crash leaves behind."""

import asyncio
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest

from plugins.events_sql import watch, writing
from plugins.events_sql.adapter import SqlEvents
from plugins.events_sql.dialects.duckdb import upkeep
from plugins.events_sql.dialects.duckdb.backend import DuckDb
from plugins.events_sql.engine import Reader
from plugins.events_sql.settings import DuckSettings
from service_core.extension.registry import load
from service_core.insight.measures import Predicate, count
from service_core.insight.ports import Aggregate, EventPage, QueryTimeout, StoreUnavailable
from service_core.kernel.errors import StartupError
from service_core.plugin import Relation
from service_core.testing.generated import world
from service_core.testing.postgres_server import PostgresServer, fresh_database
from service_core.testing.story import Story, days

CACHES = ("sessions", "candidates", "told_touches", "weak_links", "kin", "owners", "persons")
SPAN = days("2025-01-01", "2026-12-31")


@pytest.fixture
async def duckdb(tmp_path: Path):
    store = load().open("events", "duckdb:///events.db?threads=2", folder=tmp_path)
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture(scope="module")
def postgresql(postgres_session):
    with fresh_database(postgres_session) as url:
        store = load().open("events", f"{url}?timeout_seconds=2&readers=2", folder=Path())
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


@pytest.fixture(params=["duckdb", "postgresql"])
def store(request):
    return request.getfixturevalue(request.param)


async def contents(store: SqlEvents) -> dict[str, list[str]]:
    asked = {table: f"SELECT * FROM {table}" for table in CACHES}
    return {
        table: sorted(map(repr, await store._engine.read(lambda reader, text=text: reader.text(text))))
        for table, text in asked.items()
    }


async def stored(store: SqlEvents, story: Story) -> int:
    plan = Aggregate(story.scan(SPAN, include_bots=True), (count(Relation.EVENTS),))
    return (await store.aggregate(plan)).rows[0][0]


@pytest.mark.parametrize("seed", range(4))
async def test_caches_kept_batch_by_batch_equal_a_rebuild(store: SqlEvents, seed: int) -> None:
    random = Random(seed)
    events = list(world(random, 120).story.events)
    random.shuffle(events)
    while events:
        size = random.randint(1, 40)
        await store.append(events[:size])
        del events[:size]
    kept = await contents(store)
    await store.rebuild()
    assert await contents(store) == kept


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("before", ["DROP TABLE computed", "UPDATE computed SET code = 2"])
async def test_what_an_earlier_version_computed_is_computed_anew_when_the_store_is_opened(
    engine: str, before: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = "duckdb:///events.db" if engine == "duckdb" else request.getfixturevalue("postgres_url")

    def earlier(writer: Reader) -> None:
        with writing.transactional(writer).transaction():
            for text in (before, "DROP TABLE kin", "DELETE FROM owners"):
                writer.text(text)

    store = load().open("events", url, folder=tmp_path)
    await store.start()
    await store.append(world(Random(3)).story.events)
    kept = await contents(store)
    await store._engine.write(earlier)
    await store.aclose()
    for _ in range(2):
        store = load().open("events", url, folder=tmp_path)
        await store.start()
        assert await contents(store) == kept
        await store.aclose()


async def test_a_batch_sent_again_adds_nothing(store: SqlEvents) -> None:
    story = world(Random(7)).story
    assert await store.append(story.events) == len(story.events)
    before = await contents(store)
    assert await store.append(story.events) == 0
    assert await contents(store) == before
    assert await stored(store, story) == len(story.events)


async def test_a_batch_may_hold_an_event_twice(store: SqlEvents) -> None:
    story = Story()
    story.happens("page_view", at="2026-03-02", visitor="A1")
    assert await store.append([*story.events, *story.events]) == 1


async def test_sorting_a_month_changes_no_answer(duckdb: SqlEvents) -> None:
    story = world(Random(11), 200).story
    await duckdb.append(story.events)
    page = EventPage(story.scan(SPAN, include_bots=True), 1000)
    before = await contents(duckdb), await duckdb.page(page)
    await duckdb._engine.write(lambda writer: upkeep.maintain(writer, enough=1))
    assert (await contents(duckdb), await duckdb.page(page)) == before
    places = "SELECT workspace_id, timestamp FROM events ORDER BY rowid"
    rows = await duckdb._engine.read(lambda reader: reader.text(places))
    months = [(at.year, at.month) for _, at in rows]
    assert all(a <= b for a, b, m, n in zip(rows, rows[1:], months, months[1:], strict=False) if m == n)


async def test_upkeep_tells_the_planner_of_postgresql_what_every_table_holds(postgresql: SqlEvents) -> None:
    await postgresql.append(world(Random(17)).story.events)
    await postgresql.maintain()
    told = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = current_schema()"
    found = await postgresql._engine.read(lambda reader: reader.text(told))
    assert {name for (name,) in found} >= {"events", "ids", "sessions", "candidates"}


async def test_a_fatal_error_of_the_engine_costs_one_batch_a_try_and_no_restart(duckdb: SqlEvents) -> None:
    story = world(Random(13)).story
    assert await duckdb.append(story.events[:30]) == 30
    await duckdb._engine.write(
        lambda writer: writer.text("SET GLOBAL debug_checkpoint_abort = 'before_header'")
    )
    with pytest.raises(StoreUnavailable):
        await duckdb.maintain()
    assert await duckdb.append(story.events) == len(story.events) - 30
    assert await stored(duckdb, story) == len(story.events)
    await duckdb.maintain()


async def test_after_a_fatal_error_whoever_reads_is_let_go_before_the_file_is_opened_anew(
    duckdb: SqlEvents,
) -> None:
    story = world(Random(17)).story
    await duckdb.append(story.events)

    def pieces(reader):
        reader.session.hold()
        while True:
            yield reader.text("SELECT count(*) FROM events")

    reading = duckdb._engine.stream(pieces)
    assert await anext(reading) == [(len(story.events),)]
    await duckdb._engine.write(
        lambda writer: writer.text("SET GLOBAL debug_checkpoint_abort = 'before_header'")
    )
    with pytest.raises(StoreUnavailable):
        await duckdb.maintain()
    with pytest.raises(StoreUnavailable):
        await stored(duckdb, story)
    with pytest.raises(StoreUnavailable):
        await anext(reading)
    assert await stored(duckdb, story) == len(story.events)


async def test_a_reopened_file_answers_as_before(tmp_path: Path) -> None:
    story = world(Random(13)).story
    for expected in (len(story.events), 0):
        store = load().open("events", "duckdb:///events.db", folder=tmp_path)
        await store.start()
        assert await store.append(story.events) == expected
        assert await stored(store, story) == len(story.events)
        await store.aclose()


@pytest.mark.parametrize(
    "query", ["thread=2", "threads=two", "memory_limit=2 gigs", "checkpoint_threshold=-v", "readers=0"]
)
def test_a_misspelt_setting_stops_the_start(tmp_path: Path, query: str) -> None:
    with pytest.raises(StartupError, match=query.partition("=")[0]):
        load().open("events", f"duckdb:///events.db?{query}", folder=tmp_path)


async def test_a_file_that_is_none_of_ours_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "events.db").write_text("not a database, but long enough to look like a file" * 99)
    store = load().open("events", "duckdb:///events.db", folder=tmp_path)
    with pytest.raises(StartupError, match="cannot be opened"):
        await store.start()
    await store.aclose()


SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range, b.range) = 1"


async def test_a_question_past_its_budget_is_stopped_in_the_engine(tmp_path: Path) -> None:
    store = SqlEvents(
        DuckDb(DuckSettings(url="duckdb://", path=tmp_path / "e.db", timeout_seconds=0.2, readers=1))
    )
    await store.start()
    with pytest.raises(QueryTimeout):
        await store._engine.read(lambda reader: reader.text(SLOW))
    assert await store._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]
    await store.aclose()


async def test_a_caller_that_goes_away_frees_its_thread(tmp_path: Path) -> None:
    store = SqlEvents(DuckDb(DuckSettings(url="duckdb://", path=tmp_path / "e.db", readers=1)))
    await store.start()
    asked = asyncio.ensure_future(store._engine.read(lambda reader: reader.text(SLOW)))
    await asyncio.sleep(0.05)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await store._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]
    await store.aclose()


async def test_a_heavy_question_keeps_neither_appends_nor_others_waiting(duckdb: SqlEvents) -> None:
    story = world(Random(17)).story
    heavy = [asyncio.ensure_future(duckdb._engine.read(lambda reader: reader.text(SLOW))) for _ in range(3)]
    assert await asyncio.wait_for(duckdb.append(story.events), 10) == len(story.events)
    assert await asyncio.wait_for(stored(duckdb, story), 10) == len(story.events)
    for asked in heavy:
        asked.cancel()
    await asyncio.gather(*heavy, return_exceptions=True)


async def test_filter_values_never_reach_the_text_of_a_statement(store: SqlEvents) -> None:
    story = Story()
    story.happens("page_view", at="2026-03-02", visitor="A1", page_path="/it's")
    await store.append(story.events)
    for column, value in (("page_path", "/it's"), ("page_path", "' OR 1=1 --"), ("data:a'].b\"c", "x")):
        scan = dataclasses.replace(story.scan(SPAN), filters=(Predicate(column, value=value),))
        expected = 1 if value == "/it's" else 0
        assert (await store.page(EventPage(scan, 10))).total == expected


async def test_text_that_no_engine_can_hold_is_asked_for_in_vain(store: SqlEvents) -> None:
    story = Story()
    story.happens("page_view", at="2026-03-02", visitor="A1", page_path="/a")
    await store.append(story.events)
    scan = dataclasses.replace(story.scan(SPAN), filters=(Predicate("page_path", value="/a\0"),))
    assert (await store.page(EventPage(scan, 10))).total == 0


HELD = "SELECT pg_sleep(30)"


async def test_postgresql_stops_a_question_past_its_budget(postgresql: SqlEvents) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeout):
        await postgresql._engine.read(lambda reader: reader.text(HELD))
    assert time.monotonic() - started < 10
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()"
    assert await postgresql._engine.read(lambda reader: reader.text(running)) == [(0,)]


async def test_a_caller_that_goes_away_frees_its_connection(postgresql: SqlEvents) -> None:
    asked = [asyncio.ensure_future(postgresql._engine.read(lambda r: r.text(HELD))) for _ in range(2)]
    await asyncio.sleep(0.05)
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert await postgresql._engine.read(lambda reader: reader.text("SELECT 1")) == [(1,)]


async def test_two_processes_may_append_to_one_database_at_once(postgres_url: str) -> None:
    stores = [load().open("events", postgres_url, folder=Path()) for _ in range(2)]
    await asyncio.gather(*(store.start() for store in stores))
    story = world(Random(19)).story
    added = await asyncio.gather(*(store.append(story.events) for store in stores))
    assert sorted(added) == [0, len(story.events)]
    kept = await contents(stores[0])
    await stores[1].rebuild()
    assert await contents(stores[1]) == kept
    for store in stores:
        await store.aclose()


async def test_a_restarted_server_costs_no_acknowledged_event_and_is_found_again(
    postgres_server: PostgresServer,
) -> None:
    store = load().open("events", postgres_server.url, folder=Path())
    await store.start()
    story = world(Random(23)).story
    assert await store.append(story.events[:30]) == 30
    postgres_server.kill()
    with pytest.raises(StoreUnavailable):
        await stored(store, story)
    with pytest.raises(StoreUnavailable):
        await store.append(story.events)
    postgres_server.start()
    assert await store.append(story.events) == len(story.events) - 30
    assert await stored(store, story) == len(story.events)
    await store.aclose()


async def test_a_server_that_hangs_is_an_answer_in_time(postgres_server: PostgresServer) -> None:
    store = load().open("events", f"{postgres_server.url}?timeout_seconds=0.5", folder=Path())
    await store.start()
    story = world(Random(29)).story
    assert await stored(store, story) == 0
    postgres_server.hang()
    with pytest.raises(QueryTimeout):
        await asyncio.wait_for(stored(store, story), 8)
    postgres_server.go_on()
    assert await stored(store, story) == 0
    await store.aclose()


async def test_a_server_that_answers_nobody_is_away_long_before_a_budget_ends(
    postgres_server: PostgresServer,
) -> None:
    """Whoever waits hears it, also behind others who wait: there are two readers."""
    url = f"{postgres_server.url}?timeout_seconds=300&connect_seconds=1&readers=2"
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
    assert len(await postgresql._engine.read(lambda reader: reader.text(text))) == 1
    assert asked.called


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


async def test_a_server_that_is_not_there_stops_the_start() -> None:
    store = load().open("events", "postgresql://nobody@127.0.0.1:1/events", folder=Path())
    with pytest.raises(StartupError, match="cannot be used"):
        await store.start()
    await store.aclose()


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [
        ("postgresql://here/events", "psycopg", "postgres"),
        ("clickhouse://here/events", "clickhouse_connect", "clickhouse"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, url: str, driver: str, extra: str
) -> None:
    package = f"plugins.events_sql.dialects.{url.partition(':')[0]}.backend"
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(StartupError, match=rf"needs {driver}.*touchpoint\[{extra}\]"):
        load().open("events", url, folder=Path())


APPENDER = """
import asyncio, sys
from pathlib import Path
from service_core.extension.registry import load
from service_core.testing.story import Story

async def main(folder):
    store = load().open("events", "duckdb:///events.db?checkpoint_threshold=2MB", folder=Path(folder))
    await store.start()
    story = Story()
    print(story.workspace_id, flush=True)
    for batch in range(10_000):
        story.events.clear()
        for i in range(200):
            story.happens("page_view", at="2026-03-02", visitor=f"A{i}", session=f"s{batch}")
        await store.append(story.events)
        print(batch + 1, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.faults
def test_a_killed_process_loses_no_acknowledged_batch_and_keeps_no_half(tmp_path: Path) -> None:
    acknowledged = 0
    for wait in (0.3, 0.7):
        process = subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        process.stdout.readline()
        process.stdout.readline()
        acknowledged += 200
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            process.stdout.readline()
            acknowledged += 200
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += 200 * len(process.stdout.read().split())
        process.wait()
        process.stdout.close()
        kept = asyncio.run(_rows(tmp_path))
        assert kept % 200 == 0
        assert acknowledged <= kept <= acknowledged + 200
        acknowledged = kept


async def _rows(folder: Path) -> int:
    store = load().open("events", "duckdb:///events.db", folder=folder)
    await store.start()
    kept = await contents(store)
    ((rows,),) = await store._engine.read(lambda reader: reader.text("SELECT count(*) FROM events"))
    await store.rebuild()
    assert await contents(store) == kept
    await store.aclose()
    return rows


def test_timings_are_settings() -> None:
    assert timedelta(seconds=DuckSettings(url="duckdb://").timeout_seconds) == timedelta(seconds=20)
