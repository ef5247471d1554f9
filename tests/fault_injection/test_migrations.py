"""F24: the tables of a workspace store are created under kills, all or none; a store of another version is refused."""

import asyncio
import multiprocessing
import os
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from signal import SIGKILL

import pytest
import sqlalchemy as sa

from plugins import workspace_sql
from plugins.workspace_sql.schema import SCRIPTS
from service_core.access.api_keys import create_workspace_with_keys
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from service_core.testing.ingestion_stubs import NOON
from tests.fault_injection.conftest import FULL
from tests.fixtures.processes import ENDS_WITHIN_SECONDS

NEWEST = max(script.stem for script in (SCRIPTS / "versions").glob("[0-9]*.py"))
CHILD_PROGRAM = multiprocessing.get_context("forkserver")
"""Where processes come from that are killed: they need not load everything first, each again."""
CHILD_PROGRAM.set_forkserver_preload([__name__])


@contextmanager
def open_workspace_adapter(url, folder):
    address = url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(address.replace("sqlite:///", f"sqlite:///{folder}/"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@asynccontextmanager
async def start_workspace_adapter(url, folder):
    """A store as a process opens it."""
    store = collect_plugins_into_registry(
        [("workspace_sql", workspace_sql)], discover_entry_points=False
    ).open_adapter("workspace", url, base_folder=folder)
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    return "sqlite:///workspace.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def start_and_die(last, url, folder):
    """Start a store in a process of its own, which ends, as by a kill, at its ``last`` statement."""
    statements = count(1)

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def die(*_):
        if next(statements) == last:
            os.kill(os.getpid(), SIGKILL)

    asyncio.run(collect_plugins_into_registry().open_adapter("workspace", url, base_folder=folder).start())
    os._exit(0)


def exit_code_of_start(last, url, folder):
    process = CHILD_PROGRAM.Process(target=start_and_die, args=(last, url, folder))
    process.start()
    process.join(ENDS_WITHIN_SECONDS)
    ended = process.exitcode
    process.kill()  # nothing for one that has ended
    assert ended is not None, "a start hangs"
    return ended


@pytest.mark.faults
async def test_killed_schema_creation_is_rolled_back_and_repeatable(url, tmp_path):
    for last in range(5, 200, 6) if FULL else (8, 30):
        ended = exit_code_of_start(last, url, tmp_path)
        assert ended in ({-SIGKILL, 0} if FULL else {-SIGKILL})
        if ended == 0:
            break  # it came to its end before
        with open_workspace_adapter(url, tmp_path) as connection:
            tables = sa.inspect(connection).get_table_names()
            if tables:  # the kill came after the commit
                assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == NEWEST
                break
    async with start_workspace_adapter(url, tmp_path) as store:
        made = await create_workspace_with_keys(store.credentials, NOON, name="Example Shop")
        assert await store.credentials.list_workspaces() == [made.workspace]


@pytest.mark.parametrize("version", ["0022", "9999"])
async def test_store_of_another_version_is_refused_and_unchanged(url, tmp_path, version):
    async with start_workspace_adapter(url, tmp_path) as store:
        made = await create_workspace_with_keys(store.credentials, NOON, name="Example Shop")
    with open_workspace_adapter(url, tmp_path) as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{version}'"))
    with pytest.raises(StartupError, match=version) as refused:
        async with start_workspace_adapter(url, tmp_path):
            pass
    assert "export" in str(refused.value)
    with open_workspace_adapter(url, tmp_path) as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{NEWEST}'"))
    async with start_workspace_adapter(url, tmp_path) as store:
        assert await store.credentials.list_workspaces() == [made.workspace]
