"""What a workspace has connected, and every answer that tells of it."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from plugins import workspace_sql
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.analytics.ports import StoreUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.memory.connections import MemoryConnections
from tests.analytics.deployment import NOW, run_deployment

REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)
META = Connection(
    uuid4(), "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, NOW,
    (
        ConnectedAccount("act_1", "Main", (Asset("1234", "Shop pixel"), Asset("99")), "EUR", "Europe/Berlin"),
        ConnectedAccount("act_2"),
    ),
    last_synced_at=NOW,
)  # fmt: skip
STRIPE = replace(META, provider="stripe", kind=ProviderKind.REVENUE, accounts=(ConnectedAccount("acct_1"),))


@pytest.fixture
async def store(store_url, tmp_path):
    """A store and the id of a workspace it knows."""
    if store_url is None:
        yield MemoryConnections(), META.workspace_id
        return
    directory = REGISTRY.open_adapter("workspace", store_url, base_folder=tmp_path)
    await directory.start()
    initialized_deployment = await create_workspace_with_keys(directory.credentials, NOW, name="Example Shop")
    yield directory.connections, initialized_deployment.workspace.id
    await directory.aclose()


async def test_saved_connection_reads_back_unchanged(store):
    connections, workspace_id = store
    meta = replace(META, workspace_id=workspace_id)
    stripe = replace(STRIPE, workspace_id=workspace_id, created_at=NOW - timedelta(days=1))
    for connection in (meta, stripe):
        await connections.save_connection_keeping_created_at(connection)
    assert await connections.list_connections_oldest_first(workspace_id) == [stripe, meta]
    assert await connections.list_connections_oldest_first(uuid4()) == []


async def test_saving_again_replaces_all_but_the_creation_date(store):
    connections, workspace_id = store
    meta = replace(META, workspace_id=workspace_id)
    await connections.save_connection_keeping_created_at(meta)
    broken = replace(
        meta, status=ConnectionStatus.ERROR, error="token expired", accounts=(), created_at=NOW + timedelta(1)
    )
    await connections.save_connection_keeping_created_at(broken)
    assert await connections.list_connections_oldest_first(workspace_id) == [replace(broken, created_at=NOW)]


async def test_connection_can_be_removed_once(store):
    connections, workspace_id = store
    await connections.save_connection_keeping_created_at(replace(META, workspace_id=workspace_id))
    assert await connections.remove_connection_if_present(workspace_id, "meta")
    assert not await connections.remove_connection_if_present(workspace_id, "meta")
    assert await connections.list_connections_oldest_first(workspace_id) == []


async def test_sync_time_only_moves_forward_and_changes_nothing_else(store):
    connections, workspace_id = store
    pending = replace(
        STRIPE, workspace_id=workspace_id, status=ConnectionStatus.PENDING, error="slow", last_synced_at=None
    )
    await connections.save_connection_keeping_created_at(pending)
    synced = replace(pending, status=ConnectionStatus.CONNECTED, last_synced_at=NOW)
    for earlier in range(2):
        await connections.mark_synced_unless_synced_later(workspace_id, "stripe", NOW - timedelta(earlier))
        assert await connections.list_connections_oldest_first(workspace_id) == [synced]
    ended = replace(synced, status=ConnectionStatus.DISCONNECTED)
    await connections.save_connection_keeping_created_at(ended)
    later = NOW + timedelta(1)
    await connections.mark_synced_unless_synced_later(workspace_id, "stripe", later)
    assert await connections.list_connections_oldest_first(workspace_id) == [
        replace(ended, last_synced_at=later)
    ]


async def test_sync_does_not_restore_a_removed_connection(store):
    connections, workspace_id = store
    await connections.mark_synced_unless_synced_later(workspace_id, "stripe", NOW)
    assert await connections.list_connections_oldest_first(workspace_id) == []


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


async def save_connection(workspace_client, connection, **fields):
    saved = replace(connection, workspace_id=workspace_client.workspace.id, **fields)
    await workspace_client.service.ports.workspace.connections.save_connection_keeping_created_at(saved)


async def test_workspace_and_context_name_every_connection_whatever_its_health(workspace_client):
    assert (await workspace_client.get("/workspace"))["connected_platforms"] == []
    await save_connection(workspace_client, META, status=ConnectionStatus.ERROR, error="token expired")
    await save_connection(workspace_client, STRIPE, last_synced_at=None)
    assert (await workspace_client.get("/workspace"))["connected_platforms"] == [
        {"provider": "meta", "status": "error"},
        {"provider": "stripe", "status": "connected"},
    ]
    assert (await workspace_client.get("/context"))["connections"] == [
        {"platform": "meta", "status": "error", "last_synced_at": "2026-07-08T15:00:00.000Z"},
        {"platform": "stripe", "status": "connected", "last_synced_at": None},
    ]


async def test_event_names_list_the_providers_that_can_trigger_a_rule(workspace_client):
    await save_connection(workspace_client, META)
    await save_connection(workspace_client, STRIPE)
    (integration,) = (await workspace_client.get("/event-names"))["integrations"]
    assert (integration["platform"], integration["status"]) == ("stripe", "connected")
    assert {"purchase", "refund", "trial_started"} <= set(integration["event_names"])


async def read_unavailable_reasons(workspace_client):
    catalog = await workspace_client.get("/metrics/catalog")
    return {metric["id"]: metric["availability"]["reason"] for metric in catalog["metrics"]}


async def test_metrics_of_unconnected_platforms_are_not_connected(workspace_client):
    found = await read_unavailable_reasons(workspace_client)
    assert (found["ad_spend"], found["postbacks_sent"]) == ("no_ad_platform", "no_ad_platform")
    assert (found["mrr"], found["cogs"]) == ("no_revenue_provider", "no_cost_data")
    assert found["revenue"] is None


@pytest.mark.parametrize(
    ("status", "spend", "postbacks"),
    [
        (ConnectionStatus.CONNECTED, None, None),
        (ConnectionStatus.ERROR, "source_error", None),
        (ConnectionStatus.EXPIRED, "source_error", None),
        (ConnectionStatus.PENDING, "no_ad_platform", "no_ad_platform"),
        (ConnectionStatus.DISCONNECTED, "no_ad_platform", "no_ad_platform"),
    ],
)
async def test_connected_platform_in_error_is_not_reported_as_unconnected(
    workspace_client, status, spend, postbacks
):
    await save_connection(workspace_client, META, status=status)
    found = await read_unavailable_reasons(workspace_client)
    assert (found["ad_spend"], found["postbacks_sent"], found["mrr"]) == (
        spend,
        postbacks,
        "no_revenue_provider",
    )


async def test_response_is_incomplete_when_a_needed_platform_is_in_error(workspace_client):
    week = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
    spend, visits = {"metrics": ["ad_spend", "visitors"], **week}, {"metrics": ["visitors"], **week}
    assert (await workspace_client.post("/metrics", spend))["complete"]
    await save_connection(workspace_client, META, last_synced_at=None)
    for path, body, complete in (
        ("/metrics", spend, False),
        ("/query", spend, False),
        ("/query", visits, True),
    ):
        answer = await workspace_client.post(path, body)
        assert answer.get("meta", answer)["complete"] is complete, (path, body)


async def test_platform_without_spend_is_not_a_spend_source(workspace_client):
    await save_connection(workspace_client, META, provider="openai")
    found = await read_unavailable_reasons(workspace_client)
    assert (found["ad_spend"], found["postbacks_sent"]) == ("no_ad_platform", None)


async def test_unreadable_connections_are_unverified_and_not_unconnected(workspace_client, monkeypatch):
    await workspace_client.get("/workspace")

    def broken():
        raise StoreUnavailable

    monkeypatch.setattr(workspace_client.service.ports.workspace.database, "read", broken)
    for path in ("/workspace", "/context", "/event-names"):
        assert await workspace_client.refused("GET", path) == (503, "data_unverified")
    assert (await read_unavailable_reasons(workspace_client))["ad_spend"] == "source_error"
