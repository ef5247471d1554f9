"""A directory on each database, and further ones on the same."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import pytest

from plugins import workspace_sql
from plugins.workspace_sql import change_counter_poller
from service_core.access.api_keys import create_workspace_with_keys
from service_core.extensions.registry import collect_plugins_into_registry

NOW = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)

PARTIAL_INDEXES = {"ix_clicks_ip", "ix_ad_spend_latest", "ix_notifications_due", "ix_postbacks_waiting"}
"""They are created with their tables, and are no part of the metadata."""


@pytest.fixture(autouse=True)
def long_change_counter_age(monkeypatch):
    """Also where the machine stands still for some seconds; a test of that has its own word."""
    monkeypatch.setattr(change_counter_poller, "MAX_AGE_SECONDS", 300.0)


@asynccontextmanager
async def open_directory_at(url, folder):
    directory = REGISTRY.open_adapter("workspace", url, base_folder=folder)
    await directory.start()
    try:
        yield directory
    finally:
        await directory.aclose()


@pytest.fixture
def open_directory(workspace_url, tmp_path):
    """Opens a directory on the database of the test, as one more process would."""
    return partial(open_directory_at, workspace_url, tmp_path)


@pytest.fixture
async def directory(open_directory):
    async with open_directory() as directory:
        yield directory


@pytest.fixture
async def initialized_deployment(directory):
    return await create_workspace_with_keys(
        directory.credentials, NOW, name="Example Shop", timezone="Europe/Berlin", currency="EUR"
    )
