"""Events in PostgreSQL answer everything the kit asks as the reference does."""

import asyncio
from pathlib import Path

import pytest

from service_core.extensions.registry import load_plugins
from service_core.testing.event_store import EventStoreConformance
from service_core.testing.postgres_server import fresh_database


@pytest.fixture(scope="module")
def shared_store(postgres_session):
    """One database for all: every test keeps to workspaces of its own."""
    with fresh_database(postgres_session) as url:
        store = load_plugins().open_adapter("events", f"{url}?timeout_seconds=300", folder=Path())
        asyncio.run(store.start())
        yield store
        asyncio.run(store.aclose())


class TestPostgres(EventStoreConformance):
    @pytest.fixture
    def store(self, shared_store):
        return shared_store
