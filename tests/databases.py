"""The databases a workspace store is tested on: SQLite, and PostgreSQL where there is one.

A test that asks for ``workspace_url`` runs on each. On PostgreSQL the tests of a session share one
database, which is migrated once and emptied before each test.
"""

import asyncio
from pathlib import Path

import psycopg
import pytest

from plugins import workspace_sql
from service_core.extension import load
from service_core.testing.postgres_server import fresh_database

DATABASES = ("sqlite", "postgresql")
SQLITE = "sqlite:///workspace.db"
KEPT = {"alembic_version", "access_generation"}
"""Tables that say something about the database itself."""


@pytest.fixture(scope="session")
def migrated_database(postgres_session):
    """The address of a PostgreSQL database with the tables of the workspace store."""

    async def migrate(url):
        store = load([("workspace_sql", workspace_sql)], discover=False).open("workspace", url, folder=Path())
        await store.start()
        await store.aclose()

    with fresh_database(postgres_session) as url:
        asyncio.run(migrate(url))
        yield url


@pytest.fixture
def workspace_postgres(migrated_database):
    """The address of a workspace store on PostgreSQL with nothing in it."""
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        connection.execute(f"TRUNCATE {', '.join(name for (name,) in tables if name not in KEPT)}")
    return migrated_database


@pytest.fixture(params=DATABASES)
def workspace_url(request):
    """What ``storage.workspace`` says, for each database."""
    return _address(request)


@pytest.fixture(params=("memory", *DATABASES))
def store_url(request):
    """The same, and None for a store in memory."""
    return None if request.param == "memory" else _address(request)


def _address(request):
    return SQLITE if request.param == "sqlite" else request.getfixturevalue("workspace_postgres")
