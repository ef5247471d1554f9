"""The directory on real SQLite files, shared by several connections and processes."""

import asyncio
import sqlite3
import sys
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from plugins import workspace_sql
from plugins.workspace_sql.columns import Instant
from plugins.workspace_sql.tables import METADATA
from service_core.access.authenticate import Authenticator
from service_core.access.keys import found_workspace, mint_key, revoke_key
from service_core.access.rules import OwnChannel, Rules
from service_core.extension import load
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError, Unauthorized
from service_core.kernel.ids import digest
from service_core.kernel.operations import Scope

NOW = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
STEPS = Path(workspace_sql.__file__).parent / "migrations" / "versions"
REGISTRY = load([("workspace_sql", workspace_sql)], discover=False)


@asynccontextmanager
async def opened(folder, url="sqlite:///store/workspace.db"):
    directory = REGISTRY.open("workspace", url, folder=folder)
    await directory.start()
    try:
        yield directory
    finally:
        await directory.aclose()


@pytest.fixture
async def directory(tmp_path):
    async with opened(tmp_path) as directory:
        yield directory


@pytest.fixture
async def founded(directory):
    return await found_workspace(
        directory, NOW, name="Example Shop", timezone="Europe/Berlin", currency="EUR"
    )


async def test_what_is_saved_is_what_is_found(directory, founded):
    workspace = replace(
        founded.workspace, id=founded.agent_key.credential.id, public_id="k3Jx9QmZ2aPr", domain="example.com",
        active=False, allowed_origins=("https://example.com",), created_at=NOW + timedelta(hours=1),
    )  # fmt: skip
    await directory.create_workspace(workspace)
    minted = await mint_key(
        directory, workspace, NOW, name="Campaign bot", scopes=[Scope.READ, Scope.WRITE_LINKS], rate_limit=7
    )
    identity = await directory.identify(digest(minted.secret))
    assert identity.credential == minted.credential
    assert identity.workspace == workspace
    assert await directory.workspaces() == [founded.workspace, workspace]
    assert await directory.keys(workspace.id) == [minted.credential]


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(conversions=frozenset(), any_revenue=False),
        Rules(
            conversions=frozenset({"purchase", "webinar"}),
            channels=(OwnChannel("custom:crm", source="news*"), OwnChannel("custom:shop", campaign="*shop*")),
            model="linear",
            window_days=7,
        ),
    ],
)
async def test_the_rules_a_workspace_made_its_own_are_kept_and_seen_at_once(directory, founded, rules):
    changed = replace(founded.workspace, rules=rules)
    before = directory.generation()
    await directory.save_workspace(changed)
    assert directory.generation() != before
    assert (await directory.identify(digest(founded.agent_key.secret))).workspace == changed
    assert await directory.workspaces() == [changed]


async def test_everything_is_there_after_a_restart(tmp_path):
    async with opened(tmp_path) as first:
        founded = await found_workspace(first, NOW, name="Example Shop")
    async with opened(tmp_path) as second:
        assert await second.workspaces() == [founded.workspace]
        assert len(await second.keys(founded.workspace.id)) == 2


async def test_an_unknown_digest_and_a_revoked_key_match_nothing(directory, founded):
    assert await directory.identify(digest("dk_agent_nothing")) is None
    await revoke_key(directory, founded.workspace, founded.write_key.credential.id, NOW)
    assert await directory.identify(digest(founded.write_key.secret)) is None
    assert founded.write_key.credential.id in {c.id for c in await directory.keys(founded.workspace.id)}


async def test_a_revoked_key_stays_revoked_whatever_is_saved_later(directory, founded):
    await revoke_key(directory, founded.workspace, founded.agent_key.credential.id, NOW)
    await directory.save_key(replace(founded.agent_key.credential, name="Renamed"))
    assert await directory.identify(digest(founded.agent_key.secret)) is None
    kept = {c.id: c for c in await directory.keys(founded.workspace.id)}[founded.agent_key.credential.id]
    assert (kept.name, kept.revoked_at) == ("Renamed", NOW)


async def test_no_secret_is_in_the_file(tmp_path, directory, founded):
    content = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())
    assert founded.workspace.public_id.encode() in content
    assert founded.agent_key.secret.encode() not in content
    assert founded.write_key.secret.encode() not in content


async def test_a_revoke_through_another_connection_is_seen_by_the_very_next_request(
    tmp_path, directory, founded
):
    door = Authenticator(directory, system_clock)
    token = f"Bearer {founded.agent_key.secret}"
    await door.authenticate(token)
    await door.identify_write_key(founded.write_key.secret)
    async with opened(tmp_path) as elsewhere:
        for minted in founded.agent_key, founded.write_key:
            await revoke_key(elsewhere, founded.workspace, minted.credential.id, NOW)
    with pytest.raises(Unauthorized):
        await door.authenticate(token)
    assert await door.identify_write_key(founded.write_key.secret) is None


REVOKE = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from plugins import workspace_sql
from service_core.access.keys import found_workspace, revoke_key
from service_core.extension import load

async def main(folder, task):
    directory = load([("workspace_sql", workspace_sql)], discover=False).open(
        "workspace", "sqlite:///store/workspace.db", folder=Path(folder)
    )
    await directory.start()
    now = datetime.now(UTC)
    if task == "revoke":
        (workspace,) = await directory.workspaces()
        for credential in await directory.keys(workspace.id):
            await revoke_key(directory, workspace, credential.id, now)
    else:
        await found_workspace(directory, now, name=task)
    await directory.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def another_process(folder, task):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REVOKE, str(folder), task, stderr=asyncio.subprocess.PIPE
    )
    _, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()


async def test_a_revoke_in_another_process_is_seen_by_the_very_next_request(tmp_path, directory, founded):
    door = Authenticator(directory, system_clock)
    token = f"Bearer {founded.agent_key.secret}"
    await door.authenticate(token)
    await another_process(tmp_path, "revoke")
    with pytest.raises(Unauthorized):
        await door.authenticate(token)


async def test_processes_that_start_together_on_a_new_file_all_succeed(tmp_path):
    await asyncio.gather(*(another_process(tmp_path, f"shop {number}") for number in range(4)))
    async with opened(tmp_path) as directory:
        assert {workspace.name for workspace in await directory.workspaces()} == {
            f"shop {n}" for n in range(4)
        }


async def test_directories_that_start_together_on_a_new_file_all_succeed(tmp_path):
    async def start(number):
        async with opened(tmp_path) as directory:
            await found_workspace(directory, NOW, name=f"shop {number}")

    await asyncio.gather(*(start(number) for number in range(8)))
    async with opened(tmp_path) as directory:
        assert len(await directory.workspaces()) == 8


async def test_30_concurrent_writers_lose_nothing(tmp_path, directory, founded):
    before = directory.generation()
    async with opened(tmp_path) as second, opened(tmp_path) as third:
        doors = [directory, second, third]
        minted = await asyncio.gather(
            *(mint_key(doors[n % 3], founded.workspace, NOW, name=f"key {n}") for n in range(30))
        )
        assert [door.generation() for door in doors] == [before + 30] * 3
    kept = {credential.id for credential in await directory.keys(founded.workspace.id)}
    assert {one.credential.id for one in minted} <= kept


async def test_readers_go_on_while_another_process_writes(tmp_path, directory, founded):
    other = sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE workspaces SET name = 'half written'")
        assert (await directory.identify(digest(founded.agent_key.secret))).workspace.name == "Example Shop"
        before = directory.generation()
        other.execute("ROLLBACK")
        assert directory.generation() == before
    finally:
        other.close()


async def test_the_generation_changes_with_keys_and_not_with_other_tables(tmp_path, directory, founded):
    before = directory.generation()
    other = sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)
    try:
        other.execute("CREATE TABLE notes (text TEXT)")
        other.execute("INSERT INTO notes VALUES ('unrelated')")
    finally:
        other.close()
    assert directory.generation() == before
    await mint_key(directory, founded.workspace, NOW, name="Reader")
    assert directory.generation() == before + 1


async def test_a_failed_write_changes_nothing(directory, founded):
    before = directory.generation()
    with pytest.raises(IntegrityError):
        await directory.create_workspace(founded.workspace)
    stranger = replace(
        founded.agent_key.credential, id=founded.workspace.id, workspace_id=founded.agent_key.credential.id
    )
    with pytest.raises(IntegrityError):
        await directory.save_key(stranger, digest("of a workspace that does not exist"))
    assert directory.generation() == before
    assert await directory.workspaces() == [founded.workspace]


async def test_writes_are_durable_and_references_are_kept(directory):
    async with directory._database.write() as connection:
        pragmas = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert pragmas == ["wal", 2, 1]


async def test_the_migrations_build_exactly_the_tables(tmp_path, directory):
    engine = create_engine(f"sqlite:///{tmp_path}/store/workspace.db")
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, METADATA) == []
            assert context.get_current_revision() == max(path.name for path in STEPS.glob("[0-9]*.py"))[:4]
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
def test_a_url_that_does_not_fit_stops_the_start_with_a_sentence(tmp_path, url, word):
    with pytest.raises(StartupError, match=word):
        REGISTRY.open("workspace", url, folder=tmp_path)


def test_an_instant_is_kept_in_utc_and_needs_a_zone():
    column = Instant()
    local = datetime(2026, 7, 8, 17, 0, tzinfo=timezone(timedelta(hours=2)))
    assert column.process_bind_param(local, None) == datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
    with pytest.raises(ValueError, match="zone"):
        column.process_bind_param(datetime(2026, 7, 8, 15, 0), None)  # noqa: DTZ001


async def refused_start(folder):
    with pytest.raises(StartupError) as caught:
        async with opened(folder):
            pass
    return str(caught.value)


async def test_a_file_that_is_no_database_stops_the_start_with_a_sentence(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "workspace.db").write_text("no database, but long enough to be read as one" * 20)
    assert "workspace.db cannot be used" in await refused_start(tmp_path)


async def test_a_folder_in_the_way_stops_the_start_with_a_sentence(tmp_path):
    (tmp_path / "store" / "workspace.db").mkdir(parents=True)
    assert "name another file in storage.workspace" in await refused_start(tmp_path)


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path):
    async with opened(tmp_path) as directory:
        await found_workspace(directory, NOW, name="Example Shop")
    with closing(sqlite3.connect(tmp_path / "store" / "workspace.db", isolation_level=None)) as other:
        (here,) = other.execute("SELECT version_num FROM alembic_version").fetchone()
        other.execute("UPDATE alembic_version SET version_num = '9999'")
        assert "9999" in await refused_start(tmp_path)
        other.execute("UPDATE alembic_version SET version_num = ?", (here,))
    async with opened(tmp_path) as directory:
        assert [workspace.name for workspace in await directory.workspaces()] == ["Example Shop"]


def test_the_tables_can_be_made_on_postgresql_too():
    for table in METADATA.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=postgresql.dialect()))
