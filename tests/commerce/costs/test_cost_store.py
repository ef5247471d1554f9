"""The store of costs, in memory and in SQL, answers one thing."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from plugins import workspace_sql
from service_core.access.api_keys import create_workspace_with_keys
from service_core.commerce.costs.models import ItemIdType
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.memory.item_costs import MemoryCosts
from tests.commerce.costs.cost_data import item_cost

NOW = datetime(2026, 7, 1, tzinfo=UTC)
REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)


@pytest.fixture
async def store(workspace_url, tmp_path):
    directory = REGISTRY.open_adapter("workspace", workspace_url, base_folder=tmp_path)
    await directory.start()
    yield directory
    await directory.aclose()


async def test_import_replaces_costs_with_the_same_start_date(store):
    workspace_id = (
        await create_workspace_with_keys(store.credentials, NOW, name="Example Shop")
    ).workspace.id
    imports = (
        [
            item_cost("Ä", 2, 1),
            item_cost("b", "0.000001"),
            item_cost("B", 3, since="2020-01-01"),
            item_cost("7", 1, by=ItemIdType.VARIANT),
        ],
        [
            item_cost("Ä", 3),
            item_cost("Ä", 4, since="2026-07-05", currency="EUR"),
            item_cost("7", "999999999999.999999"),
        ],
    )
    oracle = MemoryCosts()
    for one in (oracle, store.item_costs):
        assert not await one.has_costs(workspace_id)
        for costs in (*imports, imports[1]):
            await one.save_or_replace_costs(workspace_id, uuid4(), costs, NOW)
        assert not await one.has_costs(uuid4())
    assert await store.item_costs.has_costs(workspace_id)
    assert await store.item_costs.list_costs(workspace_id) == await oracle.list_costs(workspace_id)


async def test_import_is_stored_atomically(store):
    workspace_id = (
        await create_workspace_with_keys(store.credentials, NOW, name="Example Shop")
    ).workspace.id
    broken = replace(item_cost("B", 1), currency=None)
    with pytest.raises(Exception, match=r"(?i)null"):
        await store.item_costs.save_or_replace_costs(workspace_id, uuid4(), [item_cost("A", 1), broken], NOW)
    assert await store.item_costs.list_costs(workspace_id) == []
