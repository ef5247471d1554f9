"""The store of subscriptions, in memory and in SQL, answers one thing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest
from hypothesis import given

from plugins import workspace_sql
from service_core.access.api_keys import create_workspace_with_keys
from service_core.commerce.subscriptions.models import SubscriptionStatus
from service_core.commerce.subscriptions.ports import MovementQuery, SubscriptionPage
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.memory.subscriptions import MemorySubscriptions
from service_core.testing.subscription_histories import random_subscription_histories
from tests.analytics.dataset_client import generated_examples

NOW = datetime(2026, 7, 1, tzinfo=UTC)
REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)
EDGES = tuple(NOW + timedelta(days=day, hours=day % 5) for day in (3, 10, 20, 20, 45))


@pytest.fixture
async def store(workspace_url, tmp_path):
    directory = REGISTRY.open_adapter("workspace", workspace_url, base_folder=tmp_path)
    await directory.start()
    yield directory
    await directory.aclose()


async def new_workspace(store):
    return (await create_workspace_with_keys(store.credentials, NOW, name="Example Shop")).workspace.id


def sums_by_range(sums):
    return sorted(sums, key=repr)


@generated_examples
@given(told=random_subscription_histories(NOW, 40))
async def test_database_agrees_with_the_memory_store(store, told):
    oracle, workspace_id = MemorySubscriptions(), await new_workspace(store)
    for one in (oracle, store.subscriptions):
        await one.add_new_subscription_reports(workspace_id, told.states, told.payments)
    for by in ((), ("plan",), ("product", "provider", "plan")):
        plan = MovementQuery(workspace_id, EDGES, by)
        assert sums_by_range(await store.subscriptions.sum_movements(plan)) == sums_by_range(
            await oracle.sum_movements(plan)
        )
    for end in EDGES[1:]:
        for provider in (None, "stripe"):
            assert await store.subscriptions.count_by_lifecycle_status(workspace_id, end, provider) == (
                await oracle.count_by_lifecycle_status(workspace_id, end, provider)
            )
            page = SubscriptionPage(workspace_id, EDGES[0], end, 100, provider=provider)
            assert await store.subscriptions.list_subscriptions(page) == await oracle.list_subscriptions(page)
        paused = replace(page, status=SubscriptionStatus.CANCELED, limit=2, offset=1)
        assert await store.subscriptions.list_subscriptions(paused) == await oracle.list_subscriptions(paused)


@generated_examples
@given(told=random_subscription_histories(NOW, 40))
async def test_reordered_and_repeated_messages_give_the_same_result(store, told):
    first, second = await new_workspace(store), await new_workspace(store)
    await store.subscriptions.add_new_subscription_reports(first, told.states, told.payments)
    for message in Random(1).sample([*told.states, *told.payments] * 2, 2 * len(told.states + told.payments)):
        states = [message] if message in told.states else []
        await store.subscriptions.add_new_subscription_reports(second, states, [] if states else [message])
    plans = (MovementQuery(id_, EDGES, ("plan", "product")) for id_ in (first, second))
    one, other = [sums_by_range(await store.subscriptions.sum_movements(plan)) for plan in plans]
    assert one == other
    pages = (SubscriptionPage(id_, EDGES[0], EDGES[-1], 100) for id_ in (first, second))
    listed, again = [await store.subscriptions.list_subscriptions(page) for page in pages]
    assert listed == again


async def test_unknown_workspace_is_empty(store):
    assert await store.subscriptions.sum_movements(MovementQuery(uuid4(), EDGES)) == []
    assert (
        await store.subscriptions.list_subscriptions(SubscriptionPage(uuid4(), EDGES[0], EDGES[1], 10)) == []
    )
