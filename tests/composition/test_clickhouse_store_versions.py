"""ClickHouse stores of a newer version, and missing ones: refused as those of every other engine."""

from pathlib import Path

import clickhouse_connect
import pytest

from hosts.composition.compose import load_installed_registry_once
from plugins.events_sql.schema.tables import VERSION
from service_core.api.readiness import ReadinessChecker, build_stored_version_probe
from service_core.kernel.errors import StartupError
from service_core.testing.event_builder import EventBuilder
from tests.analytics.deployment import NOW
from tests.composition.test_missing_stores import check_for_missing_tables
from tests.fixtures.clickhouse_http_server import DATABASE, PASSWORD, USER, serve_clickhouse

pytestmark = pytest.mark.clickhouse

NEWER = f"INSERT INTO store_version SELECT {VERSION + 1}"


@pytest.fixture
def server(tmp_path):
    with serve_clickhouse(tmp_path) as server:
        yield server


def open_store(server):
    return load_installed_registry_once().open_adapter("events", server.url, base_folder=Path())


def run_on_server(server, *statements):
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.server_port, username=USER, password=PASSWORD, database=DATABASE
    )
    for statement in statements:
        client.command(statement)
    tables = client.query("SELECT name FROM system.tables WHERE database = currentDatabase()").result_rows
    client.close()
    return {name for (name,) in tables}


async def refusal(action):
    with pytest.raises(StartupError) as refused:
        await action()
    return str(refused.value)


async def test_store_of_a_newer_version_is_refused_by_check_start_and_readiness(server):
    store = open_store(server)
    await store.start()
    await store.check_stored_version()
    run_on_server(server, "TRUNCATE TABLE store_version", NEWER)
    result = await refusal(store.check_stored_version)
    probe = build_stored_version_probe([store])
    report = await ReadinessChecker([probe], lambda: NOW).report_at_most_one_second_old()
    await store.aclose()
    assert "another version of Touchpoint" in result
    assert (report.ok, report.problems) == (False, (result,))
    for refused in (open_store(server).check, open_store(server).has_tables, open_store(server).start):
        assert await refusal(refused) == result
    assert PASSWORD not in result


async def test_tables_without_a_version_or_with_two_are_refused(server):
    store = open_store(server)
    await store.start()
    await store.aclose()
    run_on_server(server, NEWER)
    assert "another version" in await refusal(open_store(server).check)
    run_on_server(server, "DROP TABLE store_version")
    assert "another version" in await refusal(open_store(server).start)
    assert "store_version" not in run_on_server(server)


async def test_version_that_two_processes_wrote_at_once_is_one_version(server):
    store = open_store(server)
    await store.start()
    twice = f"INSERT INTO store_version SETTINGS insert_deduplicate = 0 SELECT {VERSION}"
    run_on_server(server, "SYSTEM STOP MERGES store_version", twice, twice)
    await store.check_stored_version()
    await store.aclose()
    again = open_store(server)
    await again.check()
    await again.start()
    await again.aclose()


async def test_missing_store_is_refused_and_not_created_until_its_events_are_restored(server):
    for _ in range(2):
        result = await refusal(lambda: check_for_missing_tables(open_store(server)))
        assert "storage.events is missing, but 1 events were stored in it" in result
        assert run_on_server(server) == set()
    store = open_store(server)
    await store.start()
    story = EventBuilder()
    story.add_event("page_view", at="2026-07-01", visitor="A1")
    await store.append(story.events)
    await check_for_missing_tables(store)
    await store.aclose()
    run_on_server(server, "DROP TABLE events")
    assert "is missing" in await refusal(lambda: check_for_missing_tables(open_store(server)))


async def test_refused_start_leaves_no_open_client(server, monkeypatch):
    store = open_store(server)
    await store.start()
    await store.aclose()
    run_on_server(server, NEWER)
    refused, closed = open_store(server), []
    connect = refused.backend._connect

    def count_closed_clients():
        client = connect()
        close = client.close
        monkeypatch.setattr(client, "close", lambda: closed.append(close()))
        return client

    monkeypatch.setattr(refused.backend, "_connect", count_closed_clients)
    await refusal(refused.start)
    await refused.aclose()
    assert len(closed) == 1
