"""Events in PostgreSQL answer everything the kit asks as the reference does."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_store import EventStoreConformance
from service_core.testing.postgres_server import temporary_database
from tests.conformance.started_store import open_started


@pytest.fixture(scope="module")
def new_store(postgres_session):
    """Makes stores on one database: every test keeps to workspaces of its own."""
    with temporary_database(postgres_session) as url:
        registry = collect_plugins_into_registry()
        yield lambda: registry.open_adapter("events", f"{url}?timeout_seconds=300", base_folder=Path())


@pytest.fixture(scope="module")
def shared_store(new_store):
    store = new_store()
    asyncio.run(store.start())
    yield store
    asyncio.run(store.aclose())


class TestPostgres(EventStoreConformance):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store

    @pytest.fixture
    def open_store(self, new_store):
        return partial(open_started, new_store)
