"""What the directory promises on PostgreSQL beside what it promises everywhere."""

import asyncio
import sys
from functools import partial
from urllib.parse import urlsplit

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from plugins.workspace_sql import change_counter_poller
from plugins.workspace_sql.records import METADATA
from service_core.access.api_keys import create_workspace_with_keys
from service_core.access.key_authentication import KeyAuthenticator
from service_core.analytics.ports import StoreUnavailable
from service_core.api.readiness import build_change_version_probe
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from tests.fixtures.databases import LONG_TIMEOUT
from tests.plugins.workspace_sql.conftest import NOW, PARTIAL_INDEXES, REGISTRY, open_directory_at


async def test_concurrent_starts_on_an_empty_database_create_tables_once(postgres_url, tmp_path):
    async def start(number):
        async with open_directory_at(f"{postgres_url}?{LONG_TIMEOUT}", tmp_path) as directory:
            await create_workspace_with_keys(directory.credentials, NOW, name=f"shop {number}")

    await asyncio.gather(*(start(number) for number in range(4)))
    async with open_directory_at(f"{postgres_url}?{LONG_TIMEOUT}", tmp_path) as directory:
        assert len(await directory.credentials.list_workspaces()) == 4
    engine = create_engine(postgres_url.replace("://", "+psycopg://"))
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            differences = compare_metadata(context, METADATA)
            assert {(kind, index.name) for kind, index in differences} == {
                ("remove_index", name) for name in PARTIAL_INDEXES
            }
    finally:
        engine.dispose()


async def test_database_of_a_newer_version_is_refused(postgres_url, tmp_path):
    async with open_directory_at(f"{postgres_url}?{LONG_TIMEOUT}", tmp_path):
        pass
    with psycopg.connect(postgres_url) as other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StartupError, match="9999"):
        async with open_directory_at(f"{postgres_url}?{LONG_TIMEOUT}", tmp_path):
            pass


async def test_reads_use_one_read_only_snapshot(workspace_postgres, tmp_path):
    async with open_directory_at(f"{workspace_postgres}?{LONG_TIMEOUT}", tmp_path) as directory:
        async with directory.database.read() as connection:
            shown = [
                (await connection.exec_driver_sql(f"SHOW {name}")).scalar_one()
                for name in ("transaction_isolation", "transaction_read_only", "timezone")
            ]
        assert shown == ["repeatable read", "on", "UTC"]


def startup_error(url, folder):
    """What a check says, and so does a start."""
    with pytest.raises(StartupError) as result:
        asyncio.run(REGISTRY.open_adapter("workspace", url, base_folder=folder).check())
    with pytest.raises(StartupError) as started:
        asyncio.run(REGISTRY.open_adapter("workspace", url, base_folder=folder).start())
    assert str(started.value) == str(result.value)
    return str(result.value)


def test_wrong_password_error_does_not_contain_it(postgres_server, tmp_path):
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE clerk LOGIN PASSWORD 'p@ss/word'")
    address = f"postgresql://clerk:{{}}@127.0.0.1:{postgres_server.port}/postgres"
    asyncio.run(
        REGISTRY.open_adapter("workspace", address.format("p%40ss%2Fword"), base_folder=tmp_path).check()
    )
    result = startup_error(address.format("sesame"), tmp_path)
    assert "password authentication failed" in result
    assert f"127.0.0.1:{postgres_server.port}/postgres" in result
    assert "sesame" not in result


def test_missing_database_or_server_is_reported(postgres_session, tmp_path):
    elsewhere = urlsplit(postgres_session)._replace(path="/nothing").geturl()
    assert 'database "nothing" does not exist' in startup_error(elsewhere, tmp_path)
    assert "See that the server runs" in startup_error("postgresql://127.0.0.1:1/touchpoint", tmp_path)


def test_missing_driver_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StartupError, match=r"pip install touchpoint-analytics\[postgres\]"):
        REGISTRY.open_adapter("workspace", "postgresql://127.0.0.1/touchpoint", base_folder=tmp_path)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("postgresql://localhost", "name a database"),
        ("postgresql://localhost/one/two", "name a database"),
        ("postgresql://localhost/touchpoint?sslmode=perhaps", "sslmode"),
        ("postgresql://localhost/touchpoint?connections=1", "connections"),
    ],
)
def test_invalid_url_stops_the_start_with_one_sentence(tmp_path, url, word):
    with pytest.raises(StartupError, match=word):
        REGISTRY.open_adapter("workspace", url, base_folder=tmp_path)


async def repeat_until_cancelled(ask):
    while True:
        await ask()
        await asyncio.sleep(0.01)


async def test_keys_are_rejected_while_the_server_is_unavailable(postgres_server, tmp_path, monkeypatch):
    async with open_directory_at(f"{postgres_server.url}?{LONG_TIMEOUT}", tmp_path) as directory:
        initialized_deployment = await create_workspace_with_keys(
            directory.credentials, NOW, name="Example Shop"
        )
        store = KeyAuthenticator(directory.credentials, system_clock)
        ask = partial(store.authenticate, f"Bearer {initialized_deployment.agent_key.secret}")
        request = await ask()
        postgres_server.kill()
        assert await ask() == request
        monkeypatch.setattr(change_counter_poller, "MAX_AGE_SECONDS", 1.0)
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(repeat_until_cancelled(ask), 30)
        assert not (await build_change_version_probe(directory.credentials).check()).ok
        postgres_server.start()
        assert await ask() == request
        async with asyncio.timeout(30):
            while not (await build_change_version_probe(directory.credentials).check()).ok:
                await asyncio.sleep(0.01)
