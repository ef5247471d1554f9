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
from service_core.extensions.registry import load_plugins
from service_core.testing.memory.subscriptions import MemorySubscriptions
from service_core.testing.subscription_histories import random_histories
from tests.analytics.world_client import generated_examples

NOW = datetime(2026, 7, 1, tzinfo=UTC)
REGISTRY = load_plugins([("workspace_sql", workspace_sql)], discover=False)
EDGES = tuple(NOW + timedelta(days=day, hours=day % 5) for day in (3, 10, 20, 20, 45))


@pytest.fixture
async def store(workspace_url, tmp_path):
    directory = REGISTRY.open_adapter("workspace", workspace_url, folder=tmp_path)
    await directory.start()
    yield directory
    await directory.aclose()


async def new_workspace(store):
    return (await create_workspace_with_keys(store.credentials, NOW, name="Example Shop")).workspace.id


def by_place(sums):
    return sorted(sums, key=repr)


@generated_examples
@given(told=random_histories(NOW, 40))
async def test_a_database_sums_and_lists_as_the_oracle_does(store, told):
    oracle, workspace_id = MemorySubscriptions(), await new_workspace(store)
    for one in (oracle, store.subscriptions):
        await one.add_subscription_reports(workspace_id, told.states, told.deeds)
    for by in ((), ("plan",), ("product", "provider", "plan")):
        plan = MovementQuery(workspace_id, EDGES, by)
        assert by_place(await store.subscriptions.sum_movements(plan)) == by_place(
            await oracle.sum_movements(plan)
        )
    for end in EDGES[1:]:
        for provider in (None, "stripe"):
            assert await store.subscriptions.count_by_lifecycle_status(workspace_id, end, provider) == (
                await oracle.count_by_lifecycle_status(workspace_id, end, provider)
            )
            page = SubscriptionPage(workspace_id, EDGES[0], end, 100, provider=provider)
            assert await store.subscriptions.subscriptions(page) == await oracle.subscriptions(page)
        paused = replace(page, status=SubscriptionStatus.CANCELED, limit=2, offset=1)
        assert await store.subscriptions.subscriptions(paused) == await oracle.subscriptions(paused)


@generated_examples
@given(told=random_histories(NOW, 40))
async def test_messages_in_another_order_and_twice_change_nothing(store, told):
    first, second = await new_workspace(store), await new_workspace(store)
    await store.subscriptions.add_subscription_reports(first, told.states, told.deeds)
    for message in Random(1).sample([*told.states, *told.deeds] * 2, 2 * len(told.states + told.deeds)):
        states = [message] if message in told.states else []
        await store.subscriptions.add_subscription_reports(second, states, [] if states else [message])
    plans = (MovementQuery(id_, EDGES, ("plan", "product")) for id_ in (first, second))
    one, other = [by_place(await store.subscriptions.sum_movements(plan)) for plan in plans]
    assert one == other
    pages = (SubscriptionPage(id_, EDGES[0], EDGES[-1], 100) for id_ in (first, second))
    listed, again = [await store.subscriptions.subscriptions(page) for page in pages]
    assert listed == again


async def test_a_workspace_of_nobody_is_empty(store):
    assert await store.subscriptions.sum_movements(MovementQuery(uuid4(), EDGES)) == []
    assert await store.subscriptions.subscriptions(SubscriptionPage(uuid4(), EDGES[0], EDGES[1], 10)) == []
