"""A store of a newer version: `config check` and `/ready` say the sentence with which a start is refused."""

import sqlite3
from datetime import timedelta

import duckdb
import orjson
import psycopg
import pytest

from hosts.composition.compose import compose, load_installed_registry_once
from service_core.analytics.ports import StoreUnavailable
from service_core.api.http_messages import ApiRequest
from service_core.api.readiness import ReadinessChecker, build_stored_version_probe
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.testing.postgres_server import temporary_database
from tests.analytics.deployment import NOW, run_deployment


def raise_duckdb_version(folder):
    with duckdb.connect(str(folder / "events.db")) as connection:
        connection.execute("UPDATE store_version SET version = version + 1")


def raise_spool_version(folder):
    with sqlite3.connect(folder / "spool.db") as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")


def raise_workspace_version(folder):
    with sqlite3.connect(folder / "workspace.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


URLS = {
    "events": "duckdb:///events.db",
    "queue": "spool:///spool.db",
    "workspace": "sqlite:///workspace.db",
}
RAISE = {"events": raise_duckdb_version, "queue": raise_spool_version, "workspace": raise_workspace_version}


def open_adapter(port, url, folder):
    return load_installed_registry_once().open_adapter(port, url, base_folder=folder)


async def refusal(action):
    with pytest.raises(StartupError) as refused:
        await action()
    return str(refused.value)


@pytest.fixture
async def folder(tmp_path):
    """The folder of a stopped deployment."""
    async with run_deployment("duckdb", tmp_path):
        pass
    return tmp_path


@pytest.mark.parametrize("port", URLS)
async def test_check_of_a_closed_store_says_the_sentence_of_the_start(folder, port):
    await open_adapter(port, URLS[port], folder).check()
    RAISE[port](folder)
    result = await refusal(open_adapter(port, URLS[port], folder).check)
    assert result == await refusal(open_adapter(port, URLS[port], folder).start)
    assert "another version of Touchpoint" in result
    assert str(folder) not in result


@pytest.mark.parametrize("port", ["queue", "workspace"])
async def test_readiness_says_the_sentence_of_the_start(tmp_path, port):
    async with run_deployment("duckdb", tmp_path) as served:
        assert (await ready(served)) == (200, {"status": "ok", "versions": "ok", "problems": []})
        RAISE[port](tmp_path)
        served.now = served.now.replace(minute=1)
        result = await refusal(open_adapter(port, URLS[port], tmp_path).check)
        assert (await ready(served)) == (
            503,
            {"status": "degraded", "versions": "degraded", "problems": [result]},
        )


async def ready(served):
    response = await served.service.dispatch(ApiRequest("GET", "/ready", "", {}, b""))
    answer = orjson.loads(response.body)
    return response.status, {
        "status": answer["status"],
        "versions": answer["checks"]["versions"],
        "problems": answer["problems"],
    }


async def test_readiness_reads_the_version_of_an_open_event_store(tmp_path):
    async with run_deployment("duckdb", tmp_path) as served:
        store = served.service.ports.events
        await store.check_stored_version()
        session = store.backend.open_session()
        session.cursor.execute("UPDATE store_version SET version = version + 1")
        session.close()
        assert "The event store was written by another version" in await refusal(store.check_stored_version)


async def test_readiness_is_red_while_a_postgresql_server_takes_no_writes(postgres_session, tmp_path):
    with temporary_database(postgres_session) as url, psycopg.connect(url, autocommit=True) as server:
        settings = {"storage": {"events": f"{url}?schema=events", "workspace": url}}
        now = [NOW]
        service = compose(Settings.model_validate(settings), tmp_path, clock=lambda: now[0])
        async with service:
            for is_read_only in ("off", "on", "off"):
                (name,) = server.execute("SELECT quote_ident(current_database())").fetchone()
                server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {is_read_only}")
                server.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                now[0] += timedelta(seconds=2)
                response = await service.dispatch(ApiRequest("GET", "/ready", "", {}, b""))
                answer = orjson.loads(response.body)
                expected = "degraded" if is_read_only == "on" else "ok"
                assert [answer["checks"][name] for name in ("store", "cache")] == [expected] * 2
                assert response.status == (503 if is_read_only == "on" else 200)
                assert [problem.partition(" takes no writes")[0] for problem in answer["problems"]] == (
                    ["The server of storage.events", "The server of storage.workspace"]
                    if is_read_only == "on"
                    else []
                )


async def test_postgresql_stores_of_a_newer_version_are_refused_by_check_and_start(
    postgres_session, tmp_path
):
    statements = {
        "events": "UPDATE store_version SET version = version + 1",
        "workspace": "UPDATE alembic_version SET version_num = '9999'",
    }
    for port, statement in statements.items():
        with temporary_database(postgres_session) as url:
            store = open_adapter(port, url, tmp_path)
            await store.start()
            await store.check_stored_version()
            with psycopg.connect(url) as connection:
                connection.execute(statement)
            result = await refusal(store.check_stored_version)
            await store.aclose()
            assert "another version of Touchpoint" in result
            assert result == await refusal(open_adapter(port, url, tmp_path).check)
            assert result == await refusal(open_adapter(port, url, tmp_path).start)


class Store:
    def __init__(self, fault):
        self.fault = fault

    async def check_stored_version(self):
        if self.fault:
            raise self.fault


async def test_store_without_a_version_or_without_an_answer_is_left_to_its_own_probe():
    probe = build_stored_version_probe([object(), Store(StoreUnavailable()), Store(None)])
    assert (await ReadinessChecker([probe], lambda: NOW).report_at_most_one_second_old()).checks == {
        "versions": True
    }
    probe = build_stored_version_probe(
        [Store(StartupError("One.")), Store(None), Store(StartupError("Two."))]
    )
    report = await ReadinessChecker([probe], lambda: NOW).report_at_most_one_second_old()
    assert (report.ok, report.problems) == (False, ("One.", "Two."))
