"""A connection lives on and its plugin is gone: every read that would have used it says so, and none says zero."""

import pytest

from service_core import builtin
from service_core.analytics.connections.models import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.extensions.registry import collect_plugins_into_registry
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.ads.ad_spend_data import ad_campaign, save_spend, spend_row
from tests.commerce.third_party_plugin import ThirdPartyPlugin

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}
HOURS = {"start_date": "2026-07-01T00:00:00Z", "end_date": "2026-07-08T00:00:00Z"}
SHOP, ADS = "acmeshop", "acmeads"


async def connected(served, provider, kind, status=ConnectionStatus.CONNECTED):
    client = await served.workspace(timezone="UTC")
    await served.service.ports.workspace.connections.save_connection_keeping_created_at(
        Connection(
            client.workspace.id, provider, kind, status, NOW, (ConnectedAccount("a1"),), last_synced_at=NOW
        )
    )
    return client


@pytest.fixture
async def without_plugin(tmp_path):
    """A deployment with the core's own plugins only."""
    registry = collect_plugins_into_registry([("builtin", builtin)])
    async with run_deployment("memory", tmp_path, registry) as served:
        yield served


@pytest.fixture
async def with_plugin(tmp_path):
    registry = collect_plugins_into_registry([("builtin", builtin), ("acme", ThirdPartyPlugin())])
    async with run_deployment("memory", tmp_path, registry) as served:
        yield served


async def reasons(client, *metrics):
    body = {"metrics": metrics, "date_range": {"from": "2026-07-01", "to": "2026-07-08"}}
    answer = await client.post("/metrics", body)
    return answer["complete"], {item["id"]: item["unavailable_reason"] for item in answer["metrics"]}


async def test_spend_of_an_ad_platform_without_plugin_is_unavailable(without_plugin):
    client = await connected(without_plugin, ADS, ProviderKind.ADS)
    await save_spend(client, spend_row(ADS, ad_campaign("c1"), spend=5_00))
    answer = await client.get("/ads", **WEEK)
    assert (answer["complete"], answer["totals"]["spend"]) == (False, None)
    assert {"metric": "spend", "reason": "source_error"} in answer["totals_unavailable"]
    (platform,) = answer["platforms"]
    assert platform["status"] == "error"
    assert platform["error"].startswith(f"No installed plugin brings {ADS}.")
    assert await reasons(client, "ad_spend", "mer") == (
        False,
        {"ad_spend": "source_error", "mer": "source_error"},
    )
    assert await client.refused("GET", "/commerce-metrics", **HOURS) == (503, "spend_unverified")


async def test_revenue_of_a_provider_without_plugin_is_incomplete_and_named(without_plugin):
    client = await connected(without_plugin, SHOP, ProviderKind.REVENUE)
    without_plugin.now = NOW.replace(hour=18)
    answer = await client.get("/revenue", **WEEK)
    assert answer["complete"] is False
    assert {"metric": "subscriptions", "reason": "source_error"} in answer["unavailable"]
    assert {row["platform"]: row["status"] for row in answer["platforms"]}[SHOP] == "error"
    assert (await reasons(client, "revenue"))[0] is False
    assert await reasons(client, "mrr") == (False, {"mrr": "source_error"})
    assert await client.refused("GET", "/commerce-metrics", **HOURS) == (503, "revenue_unverified")
    subscriptions = await client.get("/subscriptions", **WEEK)
    assert (subscriptions["complete"], subscriptions["summary"]["active"]) == (False, None)


async def test_status_reads_name_the_missing_plugin(without_plugin):
    client = await connected(without_plugin, SHOP, ProviderKind.REVENUE)
    (state,) = (await client.get("/onboarding"))["connections"]
    assert (state["status"], state["error"].startswith("No installed plugin")) == ("error", True)
    assert [item["status"] for item in (await client.get("/context"))["connections"]] == ["error"]
    assert (await client.get("/workspace"))["connected_platforms"] == [{"provider": SHOP, "status": "error"}]


async def test_stored_connection_keeps_its_status(without_plugin):
    client = await connected(without_plugin, SHOP, ProviderKind.REVENUE)
    await client.get("/workspace")
    stored = without_plugin.service.ports.workspace.connections
    (connection,) = await stored.list_connections_oldest_first(client.workspace.id)
    assert (connection.status, connection.error) == (ConnectionStatus.CONNECTED, None)


async def test_disconnected_connection_needs_no_plugin(without_plugin):
    client = await connected(without_plugin, ADS, ProviderKind.ADS, ConnectionStatus.DISCONNECTED)
    assert await reasons(client, "ad_spend") == (True, {"ad_spend": "no_ad_platform"})


async def test_connection_with_its_plugin_is_read_as_it_is_stored(with_plugin):
    client = await connected(with_plugin, SHOP, ProviderKind.REVENUE)
    assert (await client.get("/workspace"))["connected_platforms"] == [
        {"provider": SHOP, "status": "connected"}
    ]
    assert (await reasons(client, "mrr"))[1] == {"mrr": None}
