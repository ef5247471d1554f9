"""The store of costs, in memory and in SQL, answers one thing."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from plugins import workspace_sql
from service_core.access.keys import found_workspace
from service_core.commerce.costs.model import KnownBy
from service_core.extension.registry import load
from service_core.testing.costs import MemoryCosts
from tests.commerce.costs.pricing import cost

NOW = datetime(2026, 7, 1, tzinfo=UTC)
REGISTRY = load([("workspace_sql", workspace_sql)], discover=False)


@pytest.fixture
async def store(workspace_url, tmp_path):
    directory = REGISTRY.open("workspace", workspace_url, folder=tmp_path)
    await directory.start()
    yield directory
    await directory.aclose()


async def test_an_import_replaces_what_items_cost_from_the_same_day_on(store):
    workspace_id = (await found_workspace(store, NOW, name="Example Shop")).workspace.id
    imports = (
        [
            cost("Ä", 2, 1),
            cost("b", "0.000001"),
            cost("B", 3, since="2020-01-01"),
            cost("7", 1, by=KnownBy.VARIANT),
        ],
        [cost("Ä", 3), cost("Ä", 4, since="2026-07-05", currency="EUR"), cost("7", "999999999999.999999")],
    )
    oracle = MemoryCosts()
    for one in (oracle, store):
        assert not await one.has_costs(workspace_id)
        for costs in (*imports, imports[1]):
            await one.keep_costs(workspace_id, uuid4(), costs, NOW)
        assert not await one.has_costs(uuid4())
    assert await store.has_costs(workspace_id)
    assert await store.costs(workspace_id) == await oracle.costs(workspace_id)


async def test_an_import_is_kept_whole_or_not_at_all(store):
    workspace_id = (await found_workspace(store, NOW, name="Example Shop")).workspace.id
    broken = replace(cost("B", 1), currency=None)
    with pytest.raises(Exception, match=r"(?i)null"):
        await store.keep_costs(workspace_id, uuid4(), [cost("A", 1), broken], NOW)
    assert await store.costs(workspace_id) == []
