"""A data folder without its event store, or with stores of a newer version: refused at start, never zeros."""

import asyncio
import sqlite3
from types import SimpleNamespace
from urllib.parse import urlsplit
from uuid import UUID

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from hosts.cli.commands import app
from hosts.composition.compose import compose, load_installed_registry_once
from hosts.composition.missing_event_store import EventStoreRecorder, MissingEventStoreCheck
from service_core.ingestion.models import KnownEventStore
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
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


def lose_event_store_and_queue(folder):
    for file in (*folder.glob("**/events.db*"), *folder.glob("**/spool.db*")):
        file.unlink()


async def test_folder_that_lost_event_store_and_queue_is_refused_until_the_loss_is_accepted(folder):
    lose_event_store_and_queue(folder)
    for _ in range(2):
        sentence = await start_error(folder)
        assert "is missing: this deployment uses duckdb:///events.db?" in sentence
        assert " since 2026-07-08. Restore it" in sentence
        assert "`touchpoint config accept-lost-events`" in sentence
        assert not [*folder.glob("**/events.db")]
    (folder / "touchpoint.toml").write_text("")
    accepted = await asyncio.to_thread(run_command, "config", "accept-lost-events", folder)
    assert accepted.exit_code == 0
    for _ in range(2):
        async with run_deployment("duckdb", folder):
            pass
    lose_event_store_and_queue(folder)
    assert "is missing" in await start_error(folder)


async def test_event_store_of_a_deployment_without_events_may_be_changed(tmp_path):
    async with run_deployment("duckdb", tmp_path):
        pass
    async with run_deployment("duckdb:///other.db", tmp_path):
        pass
    assert [*tmp_path.glob("**/other.db")]


async def test_missing_event_store_is_refused_by_commands_that_open_it(folder):
    lose_event_store_and_queue(folder)
    (folder / "touchpoint.toml").write_text("[storage]\nevents = 'duckdb:///events.db'\n")
    for arguments in (
        ["config", "check"],
        ["person", "export", "v1"],
        ["move", "--to", "duckdb:///other.db"],
    ):
        refused = await asyncio.to_thread(run_command, *arguments, folder)
        assert (refused.exit_code, "is missing" in refused.stderr) == (2, True)
        assert not [*folder.glob("**/*events.db"), *folder.glob("other.db")]


def run_command(*arguments_and_folder):
    *arguments, folder = arguments_and_folder
    options = ["--config", str(folder / "touchpoint.toml")]
    if "accept-lost-events" in arguments:
        options.append("--yes")
    return CliRunner().invoke(app, [*arguments, *options])


async def test_event_store_without_events_of_the_deployment_is_refused_in_place_of_the_former(folder):
    async with run_deployment("duckdb", folder):
        pass
    async with run_deployment("duckdb", folder / "other"):
        pass
    (empty,) = folder.glob("other/**/events.db")
    ports = SimpleNamespace(events=open_events(f"duckdb:///{empty.relative_to(folder)}", folder))
    async with run_deployment("duckdb", folder) as served:
        recorder = EventStoreRecorder(
            ports.events, served.service.ports.workspace, "duckdb:///b", lambda: NOW
        )
        await ports.events.start()
        try:
            with pytest.raises(StartupError, match="has no event of this deployment, which uses duckdb"):
                await recorder.start()
        finally:
            await ports.events.aclose()
        stores = served.service.ports
        await EventStoreRecorder(stores.events, stores.workspace, "duckdb:///b", lambda: NOW).start()
        assert (await stores.workspace.event_store_record.find_event_store()).location == "duckdb:///b"


async def test_lost_postgresql_event_store_is_refused_with_a_new_queue(postgres_session, tmp_path):
    with temporary_database(postgres_session) as url:
        settings = {"storage": {"events": url, "workspace": "sqlite:///workspace.db"}}
        async with compose(Settings.model_validate(settings), tmp_path):
            pass
        (tmp_path / "spool.db").unlink()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        with pytest.raises(
            StartupError, match=r"storage\.events is missing: this deployment uses postgresql://"
        ) as e:
            async with compose(Settings.model_validate(settings), tmp_path):
                pass
        assert await open_events(url, tmp_path).has_tables() is False
        assert ":***@" in str(e.value) or urlsplit(url).password is None


async def test_event_store_is_known_to_have_events_without_a_restart(tmp_path):
    async with run_deployment("duckdb", tmp_path) as served:
        client, ports = WebhookClient(served), served.service.ports
        await client.track(workspace := await client.connected_workspace(), "page_view", visitor_id="v1")
        assert len(await client.events(workspace)) == 1
        record = ports.workspace.event_store_record
        assert not (await record.find_event_store()).has_events
        await ports.event_store_recorder().start()
        assert (await record.find_event_store()).has_events


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


class NothingRecorded:
    async def find_event_store(self):
        return None


async def check_for_missing_tables(events):
    workspace = SimpleNamespace(credentials=Workspaces(), event_store_record=NothingRecorded())
    await MissingEventStoreCheck(events, workspace, Ledger(), "duckdb:///events.db", lambda: NOW).start()


async def test_tables_that_another_process_creates_during_the_check_are_not_missed():
    answers = [True, False]

    class Events:
        async def has_tables(self):
            return answers.pop()

    class Recorded:
        async def find_event_store(self):
            return KnownEventStore("duckdb:///a", NOW, has_events=False)

    workspace = SimpleNamespace(credentials=Workspaces(), event_store_record=Recorded())
    await MissingEventStoreCheck(Events(), workspace, None, "duckdb:///a", lambda: NOW).start()
    assert answers == []


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
