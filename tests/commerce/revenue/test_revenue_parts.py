"""What revenue consists of: gross revenue, discounts, taxes, shipping and fees."""

import pytest
from hypothesis import given

from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples, load_dataset_client
from tests.analytics.deployment import run_deployment
from tests.commerce.revenue.test_revenue import WEEK, add_orders_of_source

PARTS = ["gross_revenue", "discounts", "shipping", "taxes", "fees"]
ORDER_EVENTS = {"discount": 10_00, "tax": 8_55, "shipping": 4_95, "fee": 3_20}
"""Of an order of 90.00: items of 100.00, 10.00 off, 3.20 of it for whoever took the money."""


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield await served.workspace()


async def read_revenue_parts(workspace_client, *more, **fields):
    answer = await workspace_client.post("/metrics", {"metrics": [*PARTS, *more], **WEEK, **fields})
    return [metric["value"] for metric in answer["metrics"]], answer["unavailable"]


async def add_week_of_sales(workspace_client):
    """90.00 by a shop and 20.00 through a payment provider, both whole, and 30.00 tracked; 50.00 went back."""
    add_orders_of_source(workspace_client, 90_00, source="shopify", **ORDER_EVENTS)
    add_orders_of_source(workspace_client, 20_00, source="stripe", discount=0, tax=1_60, shipping=0, fee=88)
    add_orders_of_source(workspace_client, 30_00)
    add_orders_of_source(
        workspace_client, -50_00, source="shopify", order_id="shopify0", at="2026-07-05T12:00"
    )
    await workspace_client.knows()


async def test_every_endpoint_returns_revenue_parts_reported_by_all_providers(workspace_client):
    await add_week_of_sales(workspace_client)
    values, unavailable = await read_revenue_parts(workspace_client, "revenue", "net_revenue", "orders")
    assert values == [150.0, 10.0, 4.95, 10.15, 4.08, 140.0, 90.0, 3]
    assert unavailable == []
    plan = {
        "metrics": [*PARTS, "revenue"],
        "dimensions": ["provider"],
        "date_range": {"from": "2026-07-01", "to": "2026-07-07"},
    }
    answer = await workspace_client.post(
        "/query", {**plan, "order_by": [{"field": "provider", "direction": "asc"}]}
    )
    assert [list(row.values()) for row in answer["rows"]] == [
        ["shopify", 100.0, 10.0, 4.95, 8.55, 3.2, 90.0],
        ["stripe", 20.0, 0.0, 0.0, 1.6, 0.88, 20.0],
        ["tracked", 30.0, 0.0, 0.0, 0.0, 0.0, 30.0],
    ]
    assert answer["totals"] == dict(zip([*PARTS, "revenue"], [*values[:5], 140.0], strict=True))
    hours = {"start_date": "2026-07-01T04:00Z", "end_date": "2026-07-08T04:00Z"}
    week = await workspace_client.get("/commerce-metrics", **hours)
    assert [week[name] for name in (*PARTS, "revenue", "refunds")] == [*values[:5], 140.0, 50.0]
    assert week["completeness"]["revenue"]["complete"]
    combined = (await workspace_client.get("/revenue", **WEEK))["combined"]
    assert (combined["revenue"], combined["orders"], combined["net_revenue"]) == (140.0, 3, 90.0)


async def test_part_missing_from_one_provider_is_null(workspace_client):
    await add_week_of_sales(workspace_client)
    add_orders_of_source(workspace_client, 70_00, source="whop", tax=5_00)
    await workspace_client.knows(*workspace_client.story.events[-1:])
    values, unavailable = await read_revenue_parts(workspace_client, "revenue")
    assert values == [None, None, None, 15.15, None, 210.0]
    assert {each["metric"]: each["reason"] for each in unavailable} == {
        **dict.fromkeys(("gross_revenue", "discounts", "shipping"), "insufficient_data"),
        "fees": "fees_unknown",
    }
    of_others = [{"dimension": "provider", "op": "neq", "value": "whop"}]
    assert (await read_revenue_parts(workspace_client, filters=of_others))[0] == [
        150.0,
        10.0,
        4.95,
        10.15,
        4.08,
    ]


async def test_tracked_revenue_parts_are_used_as_sent(workspace_client):
    add_orders_of_source(workspace_client, 30_00, event_data={"tax": 5, "discount": 3, "shipping": 4})
    await workspace_client.knows()
    assert (await read_revenue_parts(workspace_client, "revenue"))[0] == [30.0, 0.0, 0.0, 0.0, 0.0, 30.0]


async def test_revenue_parts_are_zero_without_charges(workspace_client):
    add_orders_of_source(workspace_client, -10_00, source="stripe")
    await workspace_client.knows()
    assert (await read_revenue_parts(workspace_client, "refunds"))[0] == [0.0, 0.0, 0.0, 0.0, 0.0, 10.0]


@pytest.fixture(params=["memory", "duckdb"])
async def served_by_store(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield served


@generated_examples
@given(drawn=random_datasets(60))
async def test_gross_revenue_minus_discounts_equals_revenue(served_by_store, drawn):
    asking = await load_dataset_client(served_by_store, drawn[0])
    names = ["gross_revenue", "discounts", "revenue"]
    for of in ({}, {"filters": [{"dimension": "currency", "value": "USD"}]}):
        answer = await asking.query(metrics=names, dimensions=["provider"], **of)
        for row in (answer["totals"], *answer["rows"]):
            gross, discounts, revenue = (row[name] for name in names)
            known = None not in (gross, discounts, revenue)
            assert not known or revenue == pytest.approx(gross - discounts, abs=1e-9)
