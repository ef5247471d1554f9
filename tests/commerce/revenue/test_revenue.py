"""`GET /revenue`, with numbers worked out by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.ports import StoreUnavailable
from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples, load_dataset_client
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.subscriptions.test_subscription_metrics import MONTHLY, state_on_day

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
STRIPE = {"source": "stripe", "at": "2026-07-03T12:00"}


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


async def connect_provider_of_kind(
    workspace_client, provider, status=ConnectionStatus.CONNECTED, kind=ProviderKind.REVENUE
):
    connection = Connection(workspace_client.workspace.id, provider, kind, status, NOW, last_synced_at=NOW)
    await workspace_client.service.ports.workspace.connections.save_connection_keeping_created_at(connection)


async def save_one_subscription(workspace_client, *ids):
    """New subscriptions of Stripe."""
    stated = state_on_day(MONTHLY, 1)
    states = [
        replace(
            stated, subscription_id=id_, message_id=id_, at=NOW.replace(day=2), started_at=NOW.replace(day=2)
        )
        for id_ in ids
    ]
    await workspace_client.service.ports.workspace.subscriptions.add_new_subscription_reports(
        workspace_client.workspace.id, states, ()
    )


def add_orders_of_source(workspace_client, *amounts, source="web", **fields):
    for number, amount in enumerate(amounts):
        known = {"visitor": f"A{number}", "order_id": f"{source}{number}", "at": "2026-07-02T12:00"}
        workspace_client.story.add_event(
            "purchase", source=source, revenue=amount, is_storefront=source == "shopify", **known | fields
        )


async def test_response_matches_the_specified_example(workspace_client):
    await connect_provider_of_kind(workspace_client, "stripe")
    await connect_provider_of_kind(workspace_client, "meta", kind=ProviderKind.ADS)
    await save_one_subscription(workspace_client, "s1", "s2", "s3")
    add_orders_of_source(workspace_client, *[75_00] * 12, source="stripe")
    add_orders_of_source(workspace_client, 50_00, 60_00, 80_00)
    workspace_client.story.add_event("refund", visitor="A1", revenue=50_00, order_id="stripe1", **STRIPE)
    await workspace_client.knows()
    assert await workspace_client.get("/revenue", **WEEK) == {
        "platforms": [
            {
                "platform": "stripe", "currency": "USD", "revenue": 900.0, "orders": 12, "aov": 75.0,
                "subscriptions": 3, "refunds": 50.0, "refund_count": 1, "net_revenue": 850.0,
                "status": "connected", "last_synced_at": "2026-07-08T15:00:00.000Z",
            },
            {
                "platform": "tracked", "currency": "USD", "revenue": 190.0, "orders": 3, "aov": 63.33,
                "subscriptions": 0, "refunds": 0.0, "refund_count": 0, "net_revenue": 190.0,
                "status": "connected", "last_synced_at": None,
            },
        ],
        "combined": {
            "revenue": 1090.0, "orders": 15, "aov": 72.67, "subscriptions": 3, "refunds": 50.0,
            "refund_count": 1, "net_revenue": 1040.0,
        },
        "refund_basis": "refund", "currency": "USD", "timezone": "America/New_York", "unavailable": [],
        "range": {
            "from": "2026-07-01T04:00:00.000Z", "to": "2026-07-08T03:59:59.999Z",
            "timezone": "America/New_York", "partial": False,
        },
        "complete": True,
    }  # fmt: skip


async def test_order_of_three_sources_counts_once_for_the_storefront(workspace_client):
    for provider in ("stripe", "shopify"):
        await connect_provider_of_kind(workspace_client, provider)
    for source, amount in (("web", 100_00), ("stripe", 108_00), ("shopify", 95_00)):
        add_orders_of_source(workspace_client, amount, source=source, order_id="1001")
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    reported = [(row["platform"], row["revenue"], row["orders"], row["aov"]) for row in answer["platforms"]]
    assert reported == [("shopify", 95.0, 1, 95.0), ("stripe", 0.0, 0, None), ("tracked", 0.0, 0, None)]
    assert (answer["combined"]["revenue"], answer["combined"]["orders"]) == (95.0, 1)
    paid = await workspace_client.get("/revenue", **WEEK, provider="stripe")
    assert ([row["platform"] for row in paid["platforms"]], paid["combined"]["revenue"]) == (["stripe"], 0.0)


async def test_provider_filter_accepts_id_or_alias(workspace_client):
    await connect_provider_of_kind(workspace_client, "stripe")
    add_orders_of_source(workspace_client, 10_00, 20_00, source="stripe")
    add_orders_of_source(workspace_client, 5_00)
    await workspace_client.knows()
    for name in ("provider", "platform"):
        answer = await workspace_client.get("/revenue", **WEEK, **{name: "stripe"})
        assert [row["platform"] for row in answer["platforms"]] == ["stripe"]
        assert answer["combined"] == {
            field: answer["platforms"][0][field] for field in answer["combined"]
        } | {"revenue": 30.0, "orders": 2}
    for other in ("tracked", "whop", "Stripe"):
        status, body = await workspace_client.ask(
            "GET", "/revenue", f"start_date=2026-07-01&end_date=2026-07-07&platform={other}"
        )
        assert (status, body["code"], body["field"]) == (400, "invalid_parameter", "platform")
    for name in workspace_client.service.registry.connectable_providers.ids_of_kind(ProviderKind.REVENUE):
        await workspace_client.get("/revenue", **WEEK, provider=name)


async def test_refund_counts_on_its_own_day_or_on_the_order_day(workspace_client):
    add_orders_of_source(workspace_client, 40_00, at="2026-06-20T12:00", order_id="O1")
    add_orders_of_source(workspace_client, -15_00, order_id="O1")
    await workspace_client.knows()
    june = {"start_date": "2026-06-01", "end_date": "2026-06-30"}
    for basis, of_june, of_july in (("refund", 0.0, 15.0), ("order", 15.0, 0.0)):
        first = await workspace_client.get("/revenue", **june, refund_basis=basis)
        second = await workspace_client.get("/revenue", **WEEK, refund_basis=basis)
        assert (first["combined"]["refunds"], second["combined"]["refunds"]) == (of_june, of_july)
        assert (first["refund_basis"], first["combined"]["net_revenue"]) == (basis, 40.0 - of_june)


async def test_missing_rate_makes_row_and_total_null(workspace_client):
    await connect_provider_of_kind(workspace_client, "stripe")
    add_orders_of_source(workspace_client, 10_00)
    add_orders_of_source(workspace_client, 10_00, source="stripe", currency="EUR")
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    tracked, stripe = answer["platforms"]
    assert (tracked["platform"], tracked["revenue"], tracked["net_revenue"]) == ("tracked", 10.0, 10.0)
    for money in (stripe, answer["combined"]):
        assert (money["revenue"], money["aov"], money["net_revenue"], money["refunds"]) == (
            None,
            None,
            None,
            0.0,
        )
    assert (stripe["orders"], answer["combined"]["orders"]) == (1, 2)
    assert answer["unavailable"] == [
        {"metric": name, "reason": "missing_fx_rate"} for name in ("revenue", "aov", "net_revenue")
    ]


async def test_figures_without_provider_data_are_null(workspace_client):
    add_orders_of_source(workspace_client, 10_00)
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    (tracked,) = answer["platforms"]
    assert (tracked["revenue"], tracked["subscriptions"], answer["combined"]["subscriptions"]) == (
        10.0,
        None,
        None,
    )
    assert answer["unavailable"] == [{"metric": "subscriptions", "reason": "no_revenue_provider"}]
    assert answer["complete"]
    never = await workspace_client.get("/revenue", **WEEK, provider="shopify")
    assert (never["platforms"], set(never["combined"].values())) == ([], {None})
    assert {each["reason"] for each in never["unavailable"]} == {"no_revenue_provider"}


async def test_revenue_of_disconnected_and_plugin_providers_is_included(workspace_client):
    add_orders_of_source(workspace_client, 10_00, source="whop")
    add_orders_of_source(workspace_client, 20_00, source="stripe")
    await connect_provider_of_kind(workspace_client, "stripe", ConnectionStatus.DISCONNECTED)
    await connect_provider_of_kind(workspace_client, "superwall", ConnectionStatus.PENDING)
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    assert [(row["platform"], row["revenue"], row["status"]) for row in answer["platforms"]] == [
        ("stripe", 20.0, "disconnected"), ("whop", 10.0, "disconnected"), ("tracked", 0.0, "connected"),
    ]  # fmt: skip


async def test_provider_in_error_makes_the_response_incomplete(workspace_client):
    await connect_provider_of_kind(workspace_client, "stripe", ConnectionStatus.ERROR)
    add_orders_of_source(workspace_client, 20_00, source="stripe")
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    stripe, _ = answer["platforms"]
    assert (stripe["status"], stripe["revenue"], stripe["subscriptions"]) == ("error", 20.0, None)
    assert answer["unavailable"] == [{"metric": "subscriptions", "reason": "source_error"}]
    assert not answer["complete"]


async def test_money_of_a_provider_in_error_that_reports_none_is_unknown(workspace_client):
    await connect_provider_of_kind(workspace_client, "stripe", ConnectionStatus.ERROR)
    add_orders_of_source(workspace_client, 20_00)
    await workspace_client.knows()
    answer = await workspace_client.get("/revenue", **WEEK)
    tracked, stripe = answer["platforms"]
    assert (tracked["revenue"], answer["combined"]["revenue"]) == (20.0, 20.0)
    assert {stripe[name] for name in ("revenue", "net_revenue", "orders", "refunds")} == {None}
    assert {"metric": "revenue", "reason": "source_error"} in answer["unavailable"]
    alone = await workspace_client.get("/revenue", **WEEK, provider="stripe")
    assert (alone["combined"]["revenue"], alone["combined"]["orders"]) == (None, None)


async def test_provider_in_error_does_not_affect_other_providers(workspace_client):
    await connect_provider_of_kind(workspace_client, "shopify", ConnectionStatus.ERROR)
    await connect_provider_of_kind(workspace_client, "stripe")
    await save_one_subscription(workspace_client, "s1", "s2")
    stripe = await workspace_client.get("/revenue", **WEEK, provider="stripe")
    assert (stripe["combined"]["subscriptions"], stripe["unavailable"], stripe["complete"]) == (2, [], True)
    listed = await workspace_client.get("/subscriptions", **WEEK, provider="stripe")
    assert (listed["summary"]["mrr"], listed["complete"]) == (20.0, True)
    for path in ("/revenue", "/subscriptions"):
        answer = await workspace_client.get(path, **WEEK, provider="shopify")
        assert ({each["reason"] for each in answer["unavailable"]}, answer["complete"]) == (
            {"source_error"},
            False,
        )


async def test_unreadable_revenue_is_refused(workspace_client, monkeypatch):
    async def away(*_):
        raise StoreUnavailable

    monkeypatch.setattr(
        type(workspace_client.service.ports.workspace.connections), "list_connections_oldest_first", away
    )
    assert (await workspace_client.refused("GET", "/revenue", **WEEK))[0] == 503


@pytest.fixture(params=["memory", "duckdb"])
async def served(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield served


@generated_examples
@given(drawn=random_datasets(60), basis=st.sampled_from(["refund", "order"]))
async def test_total_equals_the_metrics_and_the_sum_of_rows(served, drawn, basis):
    asking = await load_dataset_client(served, drawn[0])
    answer = await asking.over("/revenue", refund_basis=basis)
    combined = answer["combined"]
    combined["new_subscriptions"] = combined.pop("subscriptions")
    assert await asking.values(*combined, refund_basis=basis) == combined
    for name in ("revenue", "refunds", "orders", "refund_count", "net_revenue"):
        if combined[name] is not None:
            assert sum(row[name] for row in answer["platforms"]) == pytest.approx(combined[name])
