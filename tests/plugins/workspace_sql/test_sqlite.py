"""What the directory promises on a SQLite file, shared by several connections and processes."""

import asyncio
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from plugins import workspace_sql
from plugins.workspace_sql.records import METADATA
from plugins.workspace_sql.request_locks import RequestLocks
from plugins.workspace_sql.schema import require_database_file_of_known_version
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
    revoke_key_if_active,
)
from service_core.access.key_authentication import KeyAuthenticator
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError, Unauthorized
from service_core.kernel.ids import sha256_hex
from service_core.plugin import RequestInProgress
from tests.plugins.workspace_sql.conftest import NOW, PARTIAL_INDEXES, REGISTRY

pytestmark = pytest.mark.usefixtures("real_migrations")

STEPS = Path(workspace_sql.__file__).parent / "migrations" / "versions"


@pytest.fixture
def workspace_url():
    return "sqlite:///store/workspace.db"


async def test_no_secret_is_in_the_file(tmp_path, directory, initialized_deployment):
    content = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    assert initialized_deployment.workspace.public_id.encode() in content
    assert initialized_deployment.agent_key.secret.encode() not in content
    assert initialized_deployment.write_key.secret.encode() not in content


async def test_revocation_by_another_connection_applies_to_the_next_request(
    open_directory, directory, initialized_deployment
):
    authenticator = KeyAuthenticator(directory.credentials, system_clock)
    token = f"Bearer {initialized_deployment.agent_key.secret}"
    await authenticator.authenticate(token)
    await authenticator.find_write_key_of_active_workspace(initialized_deployment.write_key.secret)
    async with open_directory() as elsewhere:
        for minted in initialized_deployment.agent_key, initialized_deployment.write_key:
            await revoke_key_if_active(
                elsewhere.credentials, initialized_deployment.workspace, minted.credential.id, NOW
            )
    with pytest.raises(Unauthorized):
        await authenticator.authenticate(token)
    assert (
        await authenticator.find_write_key_of_active_workspace(initialized_deployment.write_key.secret)
        is None
    )


REVOKE = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from plugins import workspace_sql
from service_core.access.api_keys import create_workspace_with_keys, revoke_key_if_active
from service_core.extensions.registry import collect_plugins_into_registry

async def main(folder, task):
    directory = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False).open_adapter(
        "workspace", "sqlite:///store/workspace.db", base_folder=Path(folder)
    )
    await directory.start()
    now = datetime.now(UTC)
    if task == "revoke":
        (workspace,) = await directory.credentials.list_workspaces()
        for credential in await directory.credentials.list_keys(workspace.id):
            await revoke_key_if_active(directory.credentials, workspace, credential.id, now)
    else:
        await create_workspace_with_keys(directory.credentials, now, name=task)
    await directory.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def run_in_another_process(folder, task):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REVOKE, str(folder), task, stderr=asyncio.subprocess.PIPE
    )
    _, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()


async def test_revocation_by_another_process_applies_to_the_next_request(
    tmp_path, directory, initialized_deployment
):
    authenticator = KeyAuthenticator(directory.credentials, system_clock)
    token = f"Bearer {initialized_deployment.agent_key.secret}"
    await authenticator.authenticate(token)
    await run_in_another_process(tmp_path, "revoke")
    with pytest.raises(Unauthorized):
        await authenticator.authenticate(token)


async def test_processes_that_start_together_on_a_new_file_all_succeed(open_directory, tmp_path):
    await asyncio.gather(*(run_in_another_process(tmp_path, f"shop {number}") for number in range(4)))
    async with open_directory() as directory:
        assert {workspace.name for workspace in await directory.credentials.list_workspaces()} == {
            f"shop {n}" for n in range(4)
        }


async def test_reads_continue_while_another_process_writes(tmp_path, directory, initialized_deployment):
    other = sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE workspaces SET name = 'half written'")
        assert (
            await directory.credentials.find_auth_context(sha256_hex(initialized_deployment.agent_key.secret))
        ).workspace.name == "Example Shop"
        before = directory.credentials.change_version()
        other.execute("ROLLBACK")
        assert directory.credentials.change_version() == before
    finally:
        other.close()


async def test_change_counter_follows_keys_and_not_other_tables(tmp_path, directory, initialized_deployment):
    before = directory.credentials.change_version()
    other = sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)
    try:
        other.execute("CREATE TABLE notes (text TEXT)")
        other.execute("INSERT INTO notes VALUES ('unrelated')")
    finally:
        other.close()
    assert directory.credentials.change_version() == before
    await create_named_key_clamping_rate_limit_to_plan(
        directory.credentials, initialized_deployment.workspace, NOW, name="Reader"
    )
    assert directory.credentials.change_version() == before + 1


async def test_writes_are_durable_and_foreign_keys_enforced(directory):
    async with directory.database.write() as connection:
        pragmas = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert pragmas == ["wal", 2, 1]


async def test_created_schema_matches_the_table_declarations(tmp_path, directory):
    engine = create_engine(f"sqlite:///{tmp_path}/store/workspace.db")
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            differences = compare_metadata(context, METADATA)
            assert {(kind, index.name) for kind, index in differences} == {
                ("remove_index", name) for name in PARTIAL_INDEXES
            }
            assert context.get_current_revision() == max(path.stem for path in STEPS.glob("[0-9]*.py"))
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("sqlite://", "name a file"),
        ("sqlite://host/workspace.db", "name a file"),
        ("sqlite:///workspace.db?pool=3", "pool"),
        ("sqlite:///workspace.db?busy_seconds=0", "busy_seconds"),
    ],
)
def test_invalid_url_stops_the_start_with_one_sentence(tmp_path, url, word):
    with pytest.raises(StartupError, match=word):
        REGISTRY.open_adapter("workspace", url, base_folder=tmp_path)


async def startup_error(open_directory):
    with pytest.raises(StartupError) as caught:
        async with open_directory():
            pass
    return str(caught.value)


async def test_file_that_is_no_database_stops_the_start_with_a_sentence(open_directory, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "workspace.db").write_text("no database, but long enough to be read as one" * 20)
    assert "workspace.db cannot be used" in await startup_error(open_directory)


async def test_folder_at_the_file_path_stops_the_start_with_one_sentence(open_directory, tmp_path):
    (tmp_path / "store" / "workspace.db").mkdir(parents=True)
    assert "name another file in storage.workspace" in await startup_error(open_directory)


async def test_file_of_a_newer_version_is_refused_and_left_as_it_is(open_directory, tmp_path):
    async with open_directory() as directory:
        await create_workspace_with_keys(directory.credentials, NOW, name="Example Shop")
    with closing(sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)) as other:
        (here,) = other.execute("SELECT version_num FROM alembic_version").fetchone()
        other.execute("UPDATE alembic_version SET version_num = '9999'")
        assert "9999" in await startup_error(open_directory)
        other.execute("UPDATE alembic_version SET version_num = ?", (here,))
    async with open_directory() as directory:
        assert [workspace.name for workspace in await directory.credentials.list_workspaces()] == [
            "Example Shop"
        ]


async def test_newer_version_in_the_log_of_an_open_file_is_seen(open_directory, tmp_path):
    file = tmp_path / "store" / "workspace.db"
    async with open_directory():
        require_database_file_of_known_version(file)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("UPDATE alembic_version SET version_num = '9999'")
            with pytest.raises(StartupError, match="9999"):
                require_database_file_of_known_version(file)


def test_request_is_locked_for_others_while_it_runs_and_free_after_it(tmp_path):
    one, other = RequestLocks(tmp_path / "lock"), RequestLocks(tmp_path / "lock")
    same, another = sha256_hex("retry-1"), sha256_hex("retry-2")
    with suppress(ZeroDivisionError), one.hold_lock_or_raise_in_progress(same):
        with pytest.raises(RequestInProgress), other.hold_lock_or_raise_in_progress(same):
            pass
        with other.hold_lock_or_raise_in_progress(another), other.hold_lock_or_raise_in_progress(None):
            pass
        raise ZeroDivisionError  # as a request that fails
    for locks in (other, one):
        with locks.hold_lock_or_raise_in_progress(same):
            pass
    for locks in (one, other):
        locks.close()
