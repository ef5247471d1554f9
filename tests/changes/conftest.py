"""Clients that write notes over each store."""

import pytest

from service_core.testing.memory.access import MemoryAccess
from service_core.testing.memory.transactions import MemoryTransactions
from tests.fixtures.notes import create_note_client, open_workspace_store


@pytest.fixture
async def stores(store_url, tmp_path):
    """A store of transactions, and the directory of the same deployment."""
    if store_url is None:
        yield MemoryTransactions(), MemoryAccess()
        return
    async with open_workspace_store(store_url, tmp_path) as store:
        yield store.transactions, store


@pytest.fixture
async def api_client(stores):
    return await create_note_client(*stores)


@pytest.fixture
async def other_workspace(stores, api_client):
    """A client of another workspace of the same deployment."""
    units, directory = stores
    other = await create_note_client(units, directory, "other")
    other.writes = api_client.writes
    return other


@pytest.fixture
def make_note_client():
    """Creates a client over stores of its own, for tests that need many."""

    async def create():
        return await create_note_client(MemoryTransactions(), MemoryAccess())

    return create
