"""F24: a database of an earlier version, with data in it, is upgraded under kills: forward only, nothing lost."""

import asyncio
import multiprocessing
import os
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from signal import SIGKILL
from uuid import UUID

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from plugins import workspace_sql
from plugins.workspace_sql.schema import SCRIPTS
from plugins.workspace_sql.tables import METADATA
from service_core.access.models import CredentialKind
from service_core.extensions.registry import load_plugins
from service_core.kernel.ids import sha256_hex
from service_core.testing.ingestion_stubs import NOON
from tests.fault_injection.conftest import FULL
from tests.fixtures.processes import ENDS_WITHIN_SECONDS

*RELEASED, NEWEST = sorted(script.name[:4] for script in (SCRIPTS / "versions").glob("[0-9]*.py"))
REPLACED = {"ad_turns"}
"""Tables of what lasts for minutes only, such as whose turn it is: a later revision has others in their place."""
NURSERY = multiprocessing.get_context("forkserver")
"""Where processes come from that are killed: they need not load everything first, each again."""
NURSERY.set_forkserver_preload([__name__])


@contextmanager
def opened(url, folder):
    address = url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(address.replace("sqlite:///", f"sqlite:///{folder}/"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def of_an_earlier_version(connection, revision):
    """Only the tables of a revision, as its release made them."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def filled(connection, number):
    """So many workspaces with a key each."""
    found = sa.MetaData()
    found.reflect(connection, only=["workspaces", "credentials"])
    workspaces, credentials = (typed(found.tables[name]) for name in ("workspaces", "credentials"))
    for part, make in ((workspaces, a_workspace), (credentials, a_key)):
        rows = [make(n) | filler(part, make(n)) for n in range(number)]
        connection.execute(sa.insert(part), rows)


def typed(table):
    """The columns of a revision with the types of today: SQLite tells of some only that they are text."""
    today = METADATA.tables[table.name].c
    columns = [sa.Column(c.name, today[c.name].type, nullable=c.nullable) for c in table.columns]
    return sa.Table(table.name, sa.MetaData(), *columns)


def a_workspace(n):
    return {
        "id": UUID(int=n + 1), "public_id": f"{n:012}", "name": f"Shop {n}", "timezone": "UTC", "currency": "EUR",
        "plan": "unlimited", "active": True, "created_at": NOON, "secret": b"secret", "allowed_origins": [],
    }  # fmt: skip


def a_key(n):
    return {
        "id": UUID(int=n + 1), "workspace_id": UUID(int=n + 1), "kind": CredentialKind.AGENT.value,
        "name": "Agent", "scopes": ["service:read"], "rate_limit": 100, "hint": "abcd",
        "digest": sha256_hex(f"secret {n}"), "created_at": NOON,
    }  # fmt: skip


def filler(table, row):
    """Something for each column a later revision demands."""
    demanded = (column for column in table.columns if not column.nullable and column.name not in row)
    return {column.name: {} if isinstance(column.type, sa.JSON) else 0 for column in demanded}


def contents(connection, tables):
    """Table -> its rows, told column by column and in order, for the columns given."""
    return {
        name: sorted(
            map(str, connection.execute(sa.select(*map(sa.column, columns)).select_from(sa.table(name))))
        )
        for name, columns in tables.items()
    }


def shape(connection):
    """Table -> its columns, without what says something about the database itself."""
    inspector = sa.inspect(connection)
    names = set(inspector.get_table_names()) - {"alembic_version"}
    return {name: [column["name"] for column in inspector.get_columns(name)] for name in sorted(names)}


def is_newest(connection):
    """Whether the schema says that it is that of today."""
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == NEWEST


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    return "sqlite:///workspace.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def upgrading(last, url, folder):
    """Upgrade in a process of its own, which ends, as by a kill, at its ``last`` statement."""
    statements = count(1)

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def die(*_):
        if next(statements) == last:
            os.kill(os.getpid(), SIGKILL)

    asyncio.run(load_plugins().open_adapter("workspace", url, folder=folder).start())
    os._exit(0)


def upgraded_until(last, url, folder):
    """The exit code of such a process."""
    process = NURSERY.Process(target=upgrading, args=(last, url, folder))
    process.start()
    process.join(ENDS_WITHIN_SECONDS)
    ended = process.exitcode
    process.kill()  # nothing for one that has ended
    assert ended is not None, "an upgrade hangs"
    return ended


@pytest.mark.faults
@pytest.mark.parametrize("revision", RELEASED if FULL else RELEASED[:6:5])
async def test_an_upgrade_that_is_killed_changes_nothing_and_the_next_one_keeps_every_row(
    url, tmp_path, revision
):
    with opened(url, tmp_path) as connection:
        of_an_earlier_version(connection, revision)
        filled(connection, 2_000 if FULL else 100)
        before = shape(connection)
        rows = contents(connection, before)
    for last in range(5, 200, 6) if FULL else (8,):
        ended = upgraded_until(last, url, tmp_path)
        assert ended in ({-SIGKILL, 0} if FULL else {-SIGKILL})
        if ended == 0:
            break  # it came to its end before
        with opened(url, tmp_path) as connection:
            assert contents(connection, before) == rows
            if is_newest(connection):
                break  # the kill came after the commit
            assert shape(connection) == before
    await looked_through(url, tmp_path)
    with opened(url, tmp_path) as connection:
        after = shape(connection)
        assert set(before) - set(after) <= REPLACED
        kept = before.keys() & after.keys()
        assert contents(connection, {name: before[name] for name in kept}) == {
            name: rows[name] for name in kept
        }


async def looked_through(url, folder):
    """The next start finds every workspace and key through the port."""
    async with started(url, folder) as store:
        assert [workspace.name for workspace in await store.workspaces()][:2] == ["Shop 0", "Shop 1"]
        assert (await store.identify(sha256_hex("secret 7"))).workspace.name == "Shop 7"


async def test_what_was_saved_before_its_names_were_kept_is_found_by_them(url, tmp_path):
    kept = {"tracking_link": {"name": "Reel", "tracking_identifier": "abc", "slug": "Übung"},
            "analysis": {"title": "Why Ü\0?"}, "report": {"name": "Weekly"}}  # fmt: skip
    with opened(url, tmp_path) as connection:
        of_an_earlier_version(connection, "0014")
        filled(connection, 1)
        rows = [
            {"id": UUID(int=n), "workspace_id": UUID(int=1), "type": type_, "state": state,
             "created_at": NOON, "updated_at": NOON} for n, (type_, state) in enumerate(kept.items())
        ]  # fmt: skip
        resources = METADATA.tables["resources"]
        columns = [sa.Column(column.name, column.type) for column in resources.c if column.name in rows[0]]
        connection.execute(sa.insert(sa.Table("resources", sa.MetaData(), *columns)), rows)
    async with started(url, tmp_path):
        pass
    with opened(url, tmp_path) as connection:
        names = connection.execute(sa.select(resources.c.names).order_by(resources.c.id)).scalars()
        assert list(names) == ["reel\nabc\nübung", "why ü?", "weekly"]


@asynccontextmanager
async def started(url, folder):
    """A store as a process opens it."""
    store = load_plugins([("workspace_sql", workspace_sql)], discover=False).open_adapter(
        "workspace", url, folder=folder
    )
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()
