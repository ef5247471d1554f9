"""A data folder without its event store, or with stores of a newer version: refused at start, never zeros."""

import sqlite3
from types import SimpleNamespace
from uuid import UUID

import duckdb
import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.missing_event_store import MissingEventStoreCheck
from service_core.kernel.errors import StartupError
from service_core.testing.postgres_server import temporary_database
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.providers.webhook_client import WebhookClient
from tests.fixtures.clickhouse_in_process import open_in_process_store


@pytest.fixture
async def folder(tmp_path):
    """The folder of a stopped deployment that has stored one event."""
    async with run_deployment("duckdb", tmp_path) as served:
        client = WebhookClient(served)
        workspace = await client.connected_workspace()
        await client.track(workspace, "page_view", visitor_id="v1")
        assert len(await client.events(workspace)) == 1
    return tmp_path


async def start_error(folder):
    with pytest.raises(StartupError) as refused:
        async with run_deployment("duckdb", folder):
            pass
    return str(refused.value)


async def test_missing_event_store_is_refused_at_every_start(folder):
    (events,) = folder.glob("**/events.db")
    kept = events.rename(folder / "kept")
    for _ in range(2):
        assert "The event store of storage.events is missing, but 1 events were stored in it." in (
            await start_error(folder)
        )
        assert not events.exists()
    kept.rename(events)
    async with run_deployment("duckdb", folder):
        pass


async def test_missing_event_store_may_begin_again_with_a_new_queue(folder):
    for file in (*folder.glob("**/events.db*"), *folder.glob("**/spool.db*")):
        file.unlink()
    async with run_deployment("duckdb", folder):
        pass
    assert len([*folder.glob("**/events.db"), *folder.glob("**/spool.db")]) == 2


async def test_newer_event_store_is_refused(folder):
    (events,) = folder.glob("**/events.db")
    with duckdb.connect(str(events)) as connection:
        connection.execute("UPDATE store_version SET version = version + 1")
    assert "The event store was written by another version of Touchpoint." in await start_error(folder)


async def test_newer_queue_is_refused(folder):
    with sqlite3.connect(folder / "spool.db") as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")
    assert "was written by another version of Touchpoint" in await start_error(folder)


async def test_newer_workspace_store_is_refused(folder):
    with sqlite3.connect(folder / "workspace.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "9999 of another version of Touchpoint" in await start_error(folder)


class Ledger:
    """Counts one stored event in the only workspace of `Workspaces`."""

    async def ledger_rows(self, _workspace_id, _start, _end):
        return [SimpleNamespace(stored=1)]


class Workspaces:
    async def list_workspaces(self):
        return [SimpleNamespace(id=UUID(int=1))]


async def check_for_missing_tables(events):
    workspace = SimpleNamespace(credentials=Workspaces())
    await MissingEventStoreCheck(events, workspace, Ledger(), lambda: NOW).start()


@pytest.fixture(params=["duckdb", "postgresql", "clickhouse"])
def new_event_store(request, tmp_path):
    """An event store that has not been started, in an empty place."""
    if request.param == "clickhouse":
        yield open_in_process_store(tmp_path)
    elif request.param == "duckdb":
        yield open_events("duckdb:///events.db", tmp_path)
    else:
        with temporary_database(request.getfixturevalue("postgres_session")) as url:
            yield open_events(url, tmp_path)


def open_events(url, folder):
    return load_installed_registry_once().open_adapter("events", url, base_folder=folder)


async def test_event_store_without_tables_is_missing_on_each_engine(new_event_store):
    with pytest.raises(StartupError, match=r"storage\.events is missing, but 1 events were stored in it"):
        await check_for_missing_tables(new_event_store)
    await new_event_store.start()
    try:
        await check_for_missing_tables(new_event_store)
    finally:
        await new_event_store.aclose()


async def test_event_store_in_memory_is_never_missing(tmp_path):
    await check_for_missing_tables(open_events("memory://", tmp_path))
