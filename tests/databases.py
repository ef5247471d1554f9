"""The databases a workspace store is tested on: SQLite, and PostgreSQL where there is one.

A test that asks for ``workspace_url`` runs on each. On PostgreSQL the tests of a session share one
database, which is migrated once and emptied before each test. A new SQLite file begins as a copy of
one that was migrated once; ``from_nothing`` is for tests of the migrations themselves.
"""

import asyncio
import os
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from uuid import uuid4

import psycopg
import pytest

from plugins import workspace_sql
from plugins.workspace_sql import migrate, sqlite
from plugins.workspace_sql.tables import GENERATION, METADATA
from service_core.extension.registry import load
from service_core.testing.postgres_server import fresh_database

DATABASES = ("sqlite", "postgresql")
SQLITE = "sqlite:///workspace.db"
PATIENT = "timeout_seconds=60"
"""Where dozens write at once on a slow machine, the last of them waits longer than anybody should in earnest."""
KEPT = {GENERATION}
"""Tables that say something about the database itself."""


@pytest.fixture(scope="session")
def migrated_database(postgres_session):
    """The address of a PostgreSQL database with the tables of the workspace store."""
    with fresh_database(postgres_session) as url:
        asyncio.run(migrated(f"{url}?{PATIENT}", Path()))
        yield url


async def migrated(url, folder):
    store = load([("workspace_sql", workspace_sql)], discover=False).open("workspace", url, folder=folder)
    await store.start()
    await store.aclose()


@pytest.fixture(scope="session", autouse=True)
def new_files_are_copies(tmp_path_factory):
    """Saves the migrations of every file that is new to a store of this process."""
    folder = tmp_path_factory.mktemp("migrated")
    original, one_at_a_time = folder / "workspace.db", Lock()

    def prepare(file, busy_seconds):
        if file != original and not file.exists():
            with one_at_a_time:
                if not original.exists():
                    asyncio.run(migrated(SQLITE, folder))
            begin_as(original, file)
        migrate.prepare(file, busy_seconds)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite, "prepare", prepare)
        yield


def begin_as(original, file):
    """Whole or not at all: another store may begin at the same moment."""
    copy = file.with_name(f"{uuid4().hex}.copy")
    shutil.copyfile(original, copy)
    with suppress(FileExistsError):
        os.link(copy, file)
    copy.unlink()


@pytest.fixture
def from_nothing(monkeypatch):
    """New files are migrated, as in earnest."""
    monkeypatch.setattr(sqlite, "prepare", migrate.prepare)


@pytest.fixture
def workspace_postgres(migrated_database):
    """The address of a workspace store on PostgreSQL with nothing in it."""
    with psycopg.connect(migrated_database) as connection:
        connection.execute(emptying())
    return migrated_database


@cache
def emptying():
    """Deletes all rows a store may have made; of a few, this takes a thirtieth of what TRUNCATE takes."""
    # Every table is known as soon as a store was opened.
    return "; ".join(
        f"DELETE FROM {table}" for table in reversed(METADATA.sorted_tables) if table not in KEPT
    )


@pytest.fixture(params=DATABASES)
def workspace_url(request):
    """What ``storage.workspace`` says, for each database."""
    return _address(request)


@pytest.fixture(params=("memory", *DATABASES))
def store_url(request):
    """The same, and None for a store in memory."""
    return None if request.param == "memory" else _address(request)


def _address(request):
    return (
        SQLITE if request.param == "sqlite" else f"{request.getfixturevalue('workspace_postgres')}?{PATIENT}"
    )
