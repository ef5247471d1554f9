"""Access services over each store, with a clock that tests advance."""

from contextlib import asynccontextmanager
from functools import partial

import pytest

from plugins import workspace_sql
from plugins.checkout_sandbox.adapter import SandboxCheckoutAdapter
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.memory.access import MemoryAccess
from tests.fixtures.access_deployment import AccessDeployment
from tests.fixtures.port_stubs import CountingDirectory, ManualClock


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def directory():
    return CountingDirectory()


@asynccontextmanager
async def open_store(url, folder):
    registry = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)
    store = registry.open_adapter("workspace", url, base_folder=folder)
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()


@pytest.fixture
async def store(store_url, tmp_path):
    if store_url is None:
        yield MemoryAccess()
        return
    async with open_store(store_url, tmp_path) as store:
        yield store


@pytest.fixture
def deployment(store, clock):
    return AccessDeployment(store, clock)


@pytest.fixture
async def two_deployments(workspace_url, tmp_path, clock):
    """Two deployments on one database, as two processes would be; they share nothing else."""
    async with open_store(workspace_url, tmp_path) as one, open_store(workspace_url, tmp_path) as other:
        checkout = SandboxCheckoutAdapter()
        yield (
            AccessDeployment(one, clock, checkout=checkout),
            AccessDeployment(other, clock, checkout=checkout),
        )


@pytest.fixture
def make_deployment(store, clock):
    """Makes another deployment over the same store."""
    return partial(AccessDeployment, store, clock)
