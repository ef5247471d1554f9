"""A storefront and an ad platform of a third party behave in every answer like the built-in ones."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from service_core import builtin
from service_core.analytics.connections.models import Asset, ConnectedAccount, ProviderKind
from service_core.analytics.connections.providers import InstalledProviders
from service_core.commerce.providers.models import MappedMessage
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.workspace.rules.postback_platforms import PostbackPlatforms
from service_core.workspace.rules.rule_targets import RuleTargets
from tests.commerce.ads.ad_spend_data import (
    ad,
    ad_campaign,
    ad_group,
    connect_ad_platform,
    save_spend,
    spend_row,
)
from tests.commerce.providers.webhook_client import SECRET, open_webhook_client
from tests.commerce.third_party_plugin import Storefront, ThirdPartyPlugin

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


@pytest.fixture
async def webhook_client(tmp_path):
    registry = collect_plugins_into_registry([("builtin", builtin), ("acme", ThirdPartyPlugin())])
    async with open_webhook_client(tmp_path, registry) as webhook_client:
        yield webhook_client


@pytest.fixture
async def workspace_client(webhook_client):
    workspace_client = await webhook_client.connected_workspace()
    await webhook_client.connect(workspace_client, "acmeshop")
    return workspace_client


async def send_order(webhook_client, workspace_client, id_="m1", order="1001", total="95.00", cart="c1"):
    created = int(webhook_client.served.now.timestamp()) - 60
    body = json.dumps({"id": id_, "order": order, "total": total, "cart": cart, "created": created}).encode()
    path = f"/webhooks/acmeshop/{workspace_client.workspace.public_id}"
    assert (await webhook_client.post(path, body, [("x-acme", SECRET)])).status == 200
    await webhook_client.drain()


async def save_third_party_spend(workspace_client):
    rows = [
        spend_row("acmeads", entity, spend=1_000) for entity in (ad_campaign("c1"), ad_group("g1"), ad("a1"))
    ]
    await connect_ad_platform(workspace_client, "acmeads")
    await save_spend(workspace_client, *rows)


def test_third_party_providers_are_listed_as_connectable():
    providers = collect_plugins_into_registry(
        [("builtin", builtin), ("acme", ThirdPartyPlugin())]
    ).connectable_providers
    assert "acmeshop" in providers.ids_of_kind(ProviderKind.REVENUE)
    assert "acmeads" in providers.ids_of_kind(ProviderKind.ADS)


async def test_revenue_is_filtered_by_the_storefront_whose_report_of_an_order_counts(
    webhook_client, workspace_client
):
    about = {"id": "pi_1", "object": "payment_intent", "amount_received": 10_800, "currency": "usd"}
    paid = {
        "id": "evt_1", "type": "payment_intent.succeeded", "livemode": True,
        "created": int(webhook_client.served.now.timestamp()) - 90,
        "data": {"object": about | {"metadata": {"order_id": "1001"}}},
    }  # fmt: skip
    assert (await webhook_client.stripe(workspace_client, paid)).status == 200
    await send_order(webhook_client, workspace_client)
    answer = await workspace_client.get("/revenue", **WEEK)
    assert {row["platform"]: row["revenue"] for row in answer["platforms"]} == {
        "acmeshop": 95.0, "stripe": 0.0, "tracked": 0.0,
    }  # fmt: skip
    assert answer["combined"]["orders"] == 1
    alone = await workspace_client.get("/revenue", **WEEK, provider="acmeshop")
    assert [row["platform"] for row in alone["platforms"]] == ["acmeshop"]


async def test_cart_event_of_the_site_links_the_order_to_its_visitor(webhook_client, workspace_client):
    await webhook_client.track(workspace_client, "$acme_cart", {"cart_id": "c7"}, anonymous_id="A7")
    await send_order(webhook_client, workspace_client, cart="c7")
    assert await webhook_client.person(workspace_client, "acmeshop:c7") == await webhook_client.person(
        workspace_client, "A7"
    )


async def test_third_party_spend_is_queried_by_alias_and_level_name(webhook_client, workspace_client):
    await save_third_party_spend(workspace_client)
    answer = await workspace_client.get("/ads", **WEEK, platform="acme_ads", level="board")
    assert (answer["platform"], answer["level"]) == ("acmeads", "group")
    assert [(row["platform"], row["id"], row["spend"]) for row in answer["ads"]] == [("acmeads", "g1", 10.0)]
    _, refused = await workspace_client.ask(
        "GET", "/ads", "start_date=2026-07-01&end_date=2026-07-08&platform=unknown"
    )
    assert refused["code"] == "invalid_platform"
    assert "acmeads" in refused["hint"]


async def test_commerce_metrics_include_the_freshness_of_third_party_spend(webhook_client, workspace_client):
    await save_third_party_spend(workspace_client)
    parameters = {"start_date": "2026-07-01T00:00:00Z", "end_date": "2026-07-08T00:00:00Z"}
    answer = await workspace_client.get("/commerce-metrics", **parameters)
    assert answer["spend"] == 10.0
    assert [each["platform"] for each in answer["completeness"]["spend"]["platforms"]] == ["acmeads"]


async def test_third_party_events_are_listed_and_trigger_rules(webhook_client, workspace_client):
    names = await workspace_client.get("/event-names")
    assert {"platform": "acmeshop", "status": "connected", "event_names": ["order_paid"]} in names[
        "integrations"
    ]
    await connect_ad_platform(workspace_client, "acmeads")
    (connection,) = [
        each
        for each in await webhook_client.ports.workspace.connections.list_connections_oldest_first(
            workspace_client.workspace.id
        )
        if each.provider == "acmeads"
    ]
    account = ConnectedAccount("act_1", assets=(Asset("pixel_1"),))
    await webhook_client.ports.workspace.connections.save_connection_keeping_created_at(
        replace(connection, accounts=(account,))
    )
    part = webhook_client.served.service.component
    connections = await webhook_client.ports.workspace.connections.list_connections_oldest_first(
        workspace_client.workspace.id
    )
    targets = RuleTargets(part(PostbackPlatforms), connections, part(InstalledProviders))
    platform = targets.require_platform("acmeads")
    assert targets.resolve_only_destination(platform, None, None) == ("act_1", "pixel_1")
    targets.require_accepted_event(platform, "act_1", "Sale")
    targets.require_known_event_source("acmeshop")


async def test_revenue_is_incomplete_while_a_connected_provider_has_no_plugin(tmp_path):
    registry = collect_plugins_into_registry([("builtin", builtin)])
    async with open_webhook_client(tmp_path, registry) as webhook_client:
        workspace_client = await webhook_client.connected_workspace()
        assert (await workspace_client.get("/revenue", **WEEK))["complete"]
        other = await webhook_client.connected_workspace()
        await webhook_client.connect(other, "acmeshop")
        webhook_client.served.now += timedelta(minutes=5)
        assert not (await other.get("/revenue", **WEEK))["complete"]


FAILING_MESSAGES = {
    "a field the plugin reads is absent": {"id": None},
    "a value JSON cannot hold": {
        "id": "m1",
        "created": 1_783_500_000,
        "order": "1",
        "total": "1.00",
        "cart": 7,
    },
}


@pytest.mark.parametrize("message", FAILING_MESSAGES.values(), ids=FAILING_MESSAGES)
async def test_message_its_plugin_raises_on_is_kept_raw_and_stored_by_replay_after_the_fix(
    webhook_client, workspace_client, monkeypatch, message
):
    path, body = f"/webhooks/acmeshop/{workspace_client.workspace.public_id}", json.dumps(message).encode()
    headers = [("x-acme", SECRET), ("x-acme-topic", "order")]
    if message["id"]:

        def map_to_object(_storefront, message, delivery, _account_id):
            return MappedMessage(
                message["id"], "order_paid", delivery.received_at, properties={"o": object()}
            )

        monkeypatch.setattr(Storefront, "map_message", map_to_object)
    answer = await webhook_client.post(path, body, headers)
    assert (answer.status, answer.json) == (200, {"received": True, "duplicate": False})
    assert await webhook_client.events(workspace_client) == []
    queue, workspace_id = webhook_client.ports.queue, workspace_client.workspace.id
    (kept,) = await queue.list_quarantined(workspace_id, 10)
    assert (kept.queued.arrival.body, SECRET in str(kept)) == (body, False)
    assert "acmeshop: the plugin failed with" in kept.reason
    assert (await webhook_client.ledger(workspace_client))["quarantined"] == 1

    def map_fixed(_storefront, _message, delivery, _account_id):
        assert delivery.headers["x-acme-topic"] == "order"
        return MappedMessage(
            "m1",
            "order_paid",
            delivery.received_at,
            properties={"order_id": "1001", "revenue": "95.00", "currency": "USD"},
            external_ids={"acme_cart": "c1"},
        )

    monkeypatch.setattr(Storefront, "map_message", map_fixed)
    assert await queue.replay(workspace_id) == 1
    (event,) = await webhook_client.events(workspace_client)
    assert (event["event_id"], event["revenue"]) == ("acmeshop_m1", 95.0)
    assert await queue.list_quarantined(workspace_id, 10) == []
    repeated = await webhook_client.post(path, body, headers)
    assert repeated.json == {"received": True, "duplicate": True}
    assert len(await webhook_client.events(workspace_client)) == 1


async def test_signature_its_plugin_cannot_check_is_answered_503_and_counted(
    webhook_client, workspace_client, monkeypatch
):
    def fail(*_):
        raise TypeError("a header is absent")

    monkeypatch.setattr(Storefront, "verify_signature", fail)
    path = f"/webhooks/acmeshop/{workspace_client.workspace.public_id}"
    assert (await webhook_client.post(path, b"{}", [("x-acme", SECRET)])).status == 503
    row = await webhook_client.ledger(workspace_client)
    assert (row["received"], row["rejected_by_reason"]) == (1, {"enqueue_failed": 1})
