"""A storefront and an ad platform of a third party behave in every answer like the built-in ones."""

import json
from dataclasses import replace

import pytest

from service_core import builtin
from service_core.analytics.connections.models import Asset, ConnectedAccount, ProviderKind
from service_core.analytics.connections.providers import InstalledProviders
from service_core.extensions.registry import load_plugins
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
from tests.commerce.third_party_plugin import Plugin

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-08"}


@pytest.fixture
async def client(tmp_path):
    registry = load_plugins([("builtin", builtin), ("acme", Plugin())])
    async with open_webhook_client(tmp_path, registry) as client:
        yield client


@pytest.fixture
async def shop(client):
    shop = await client.connected_workspace()
    await client.connect(shop, "acmeshop")
    return shop


async def sell(client, shop, id_="m1", order="1001", total="95.00", cart="c1"):
    created = int(client.served.now.timestamp()) - 60
    body = json.dumps({"id": id_, "order": order, "total": total, "cart": cart, "created": created}).encode()
    path = f"/webhooks/acmeshop/{shop.workspace.public_id}"
    assert (await client.post(path, body, [("x-acme", SECRET)])).status == 200
    await client.drain()


async def advertise(shop):
    rows = [
        spend_row("acmeads", entity, spend=1_000) for entity in (ad_campaign("c1"), ad_group("g1"), ad("a1"))
    ]
    await connect_ad_platform(shop, "acmeads")
    await save_spend(shop, *rows)


def test_they_are_among_what_a_workspace_can_connect():
    providers = load_plugins([("builtin", builtin), ("acme", Plugin())]).providers
    assert "acmeshop" in providers.ids_of_kind(ProviderKind.REVENUE)
    assert "acmeads" in providers.ids_of_kind(ProviderKind.ADS)


async def test_revenue_is_filtered_by_the_storefront_whose_report_of_an_order_counts(client, shop):
    about = {"id": "pi_1", "object": "payment_intent", "amount_received": 10_800, "currency": "usd"}
    paid = {
        "id": "evt_1", "type": "payment_intent.succeeded", "livemode": True,
        "created": int(client.served.now.timestamp()) - 90,
        "data": {"object": about | {"metadata": {"order_id": "1001"}}},
    }  # fmt: skip
    assert (await client.stripe(shop, paid)).status == 200
    await sell(client, shop)
    answer = await shop.get("/revenue", **WEEK)
    assert {row["platform"]: row["revenue"] for row in answer["platforms"]} == {
        "acmeshop": 95.0, "stripe": 0.0, "tracked": 0.0,
    }  # fmt: skip
    assert answer["combined"]["orders"] == 1
    alone = await shop.get("/revenue", **WEEK, provider="acmeshop")
    assert [row["platform"] for row in alone["platforms"]] == ["acmeshop"]


async def test_an_event_of_the_site_joins_the_order_to_its_visitor(client, shop):
    await client.track(shop, "$acme_cart", {"cart_id": "c7"}, anonymous_id="A7")
    await sell(client, shop, cart="c7")
    assert await client.person(shop, "acmeshop:c7") == await client.person(shop, "A7")


async def test_spend_is_read_by_its_other_name_and_its_name_of_a_level(client, shop):
    await advertise(shop)
    answer = await shop.get("/ads", **WEEK, platform="acme_ads", level="board")
    assert (answer["platform"], answer["level"]) == ("acmeads", "group")
    assert [(row["platform"], row["id"], row["spend"]) for row in answer["ads"]] == [("acmeads", "g1", 10.0)]
    _, refused = await shop.ask("GET", "/ads", "start_date=2026-07-01&end_date=2026-07-08&platform=unknown")
    assert refused["code"] == "invalid_platform"
    assert "acmeads" in refused["hint"]


async def test_commerce_metrics_know_how_far_its_spend_is_complete(client, shop):
    await advertise(shop)
    asked = {"start_date": "2026-07-01T00:00:00Z", "end_date": "2026-07-08T00:00:00Z"}
    answer = await shop.get("/commerce-metrics", **asked)
    assert answer["spend"] == 10.0
    assert [each["platform"] for each in answer["completeness"]["spend"]["platforms"]] == ["acmeads"]


async def test_its_events_are_listed_and_trigger_rules_that_send_to_it(client, shop):
    names = await shop.get("/event-names")
    assert {"platform": "acmeshop", "status": "connected", "event_names": ["order_paid"]} in names[
        "integrations"
    ]
    await connect_ad_platform(shop, "acmeads")
    (connection,) = [
        each
        for each in await client.ports.workspace.connections.list_connections(shop.workspace.id)
        if each.provider == "acmeads"
    ]
    account = ConnectedAccount("act_1", assets=(Asset("pixel_1"),))
    await client.ports.workspace.connections.save_connection(replace(connection, accounts=(account,)))
    part = client.served.service.component
    connections = await client.ports.workspace.connections.list_connections(shop.workspace.id)
    targets = RuleTargets(part(PostbackPlatforms), connections, part(InstalledProviders))
    platform = targets.get_platform("acmeads")
    assert targets.resolve_destination(platform, None, None) == ("act_1", "pixel_1")
    targets.check_platform_event(platform, "act_1", "Sale")
    targets.check_event_source("acmeshop")
