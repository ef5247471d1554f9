"""Events in PostgreSQL answer everything the kit asks as the reference does."""

import asyncio
from pathlib import Path

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.event_store import EventStoreConformance
from service_core.testing.postgres_server import temporary_database


@pytest.fixture(scope="module")
def shared_store(postgres_session):
    """One database for all: every test keeps to workspaces of its own."""
    with temporary_database(postgres_session) as url:
        store = collect_plugins_into_registry().open_adapter(
            "events", f"{url}?timeout_seconds=300", base_folder=Path()
        )
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


class TestPostgres(EventStoreConformance):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store
