"""What sold goods cost, with numbers worked out by hand."""

import pytest

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.costs.models import ItemIdType
from tests.analytics.deployment import STORES, run_deployment
from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.commerce.costs.cost_data import add_order, item_cost, save_costs

WEEK = {"start_date": "2026-07-01T04:00Z", "end_date": "2026-07-08T04:00Z"}
DAYS = {"from": "2026-07-01", "to": "2026-07-07"}
METRICS = [
    "cogs",
    "shipping_costs",
    "gross_profit",
    "contribution_profit",
    "contribution_margin",
    "profit",
    "margin",
]
UNKNOWN = {"cogs": None, "shipping_costs": None, "profit": None, "margin": None}


@pytest.fixture(params=STORES)
async def workspace_client(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield await served.workspace()


async def add_week_of_orders(workspace_client):
    """162.00 of shirts and a cap, of which 25.00 came back; shirts cost more from the fourth on, in New York."""
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), "2026-07-01", spend=100_00, conversion_value=1_00),
    )
    await save_costs(
        workspace_client,
        item_cost("SHIRT", "8.00", "1.00"),
        item_cost("SHIRT", "9.50", "1.25", since="2026-07-04"),
        item_cost("22", "3.335", "0.50", by=ItemIdType.VARIANT),
    )
    add_order(workspace_client, "O1", "2026-07-02T10:00", 62_00, ("SHIRT", 2, "25.00"))
    cap = {"variant_id": 22, "price": 12}
    workspace_client.story.events[-1].event_data["items"].append(cap)
    add_order(workspace_client, "O2", "2026-07-04T03:59", 25_00, ("SHIRT", 1, "25.00"))
    add_order(workspace_client, "O3", "2026-07-04T04:00", 75_00, ("SHIRT", 3, "25.00"))
    add_order(workspace_client, "O1", "2026-07-06T10:00", 25_00, ("SHIRT", 1, None), name="refund")
    add_order(workspace_client, "O4", "2026-07-08T05:00", 25_00, ("SHIRT", 1, "25.00"))


async def metric_values(workspace_client, *ids, **fields):
    """Value and reason of metrics over the week."""
    answer = await workspace_client.post("/metrics", {"metrics": list(ids), "date_range": DAYS, **fields})
    return {one["id"]: (one["value"], one["unavailable_reason"]) for one in answer["metrics"]}


async def run_query(workspace_client, *ids, **fields):
    """Rows of metrics over the week."""
    return (await workspace_client.post("/query", {"metrics": list(ids), "date_range": DAYS, **fields}))[
        "rows"
    ]


async def test_costs_of_a_week_with_a_changed_cost_and_a_return(workspace_client):
    await add_week_of_orders(workspace_client)
    await workspace_client.knows()
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    values = {
        "cogs": 47.84,  # 2 x 8.00 + 3.335 + 8.00 + 3 x 9.50 - 8.00, the shirt that came back at what it cost when sold
        "shipping_costs": 6.25,
        "gross_profit": 89.16,  # 137.00 - 47.835
        "contribution_profit": 82.92,  # 82.915
        "contribution_margin": 0.605219,
        "profit": -17.08,  # -17.085
        "margin": -0.124708,
    }
    assert {id_: answer[id_] for id_ in UNKNOWN} == {id_: values[id_] for id_ in UNKNOWN}
    assert answer["completeness"]["costs"] == {"complete": True, "covered_revenue_share": 1}
    assert await metric_values(workspace_client, *METRICS) == {
        id_: (value, None) for id_, value in values.items()
    }
    assert await run_query(workspace_client, *METRICS) == [values]


async def test_refunds_by_order_date_reverse_costs_on_the_order_day(workspace_client):
    await add_week_of_orders(workspace_client)
    await workspace_client.knows()
    for basis, costs in (("refund", [19.34, 8.0, 28.5, -8.0]), ("order", [11.34, 8.0, 28.5])):
        rows = await run_query(workspace_client, "cogs", interval="day", refund_basis=basis)
        assert [row["cogs"] for row in rows if row["cogs"]] == costs


async def test_missing_item_cost_makes_sums_null_and_lowers_the_coverage(
    workspace_client,
):
    await add_week_of_orders(workspace_client)
    add_order(workspace_client, "O5", "2026-07-05T10:00", 38_00, ("MUG", 2, 19))
    await workspace_client.knows()
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert {id_: answer[id_] for id_ in UNKNOWN} == UNKNOWN
    assert answer["completeness"]["costs"] == {"complete": False, "covered_revenue_share": 0.81}
    assert await metric_values(workspace_client, *METRICS) == dict.fromkeys(
        METRICS, (None, "insufficient_data")
    )
    by_day = await run_query(workspace_client, "cogs", interval="day")
    assert [row["cogs"] for row in by_day] == [0, 19.34, 8.0, 28.5, None, -8.0, 0]
    await save_costs(workspace_client, item_cost("MUG", 4))
    assert (await metric_values(workspace_client, "cogs", "shipping_costs")) == {
        "cogs": (55.84, None),
        "shipping_costs": (None, "insufficient_data"),
    }
    covered = (await workspace_client.get("/commerce-metrics", **WEEK))["completeness"]["costs"]
    assert covered == {"complete": False, "covered_revenue_share": 1}


async def test_order_without_items_makes_costs_null_and_lowers_the_coverage(workspace_client):
    await save_costs(
        workspace_client,
        item_cost("SHIRT", 1, 0),
        item_cost("pro", 0, 0),
        item_cost("LATE", 1, 0, since="2026-07-05"),
    )
    add_order(workspace_client, "O1", "2026-07-02T10:00", 75_00, ("SHIRT", 3, 25))
    workspace_client.story.add_event(
        "subscription_renewed", at="2026-07-02", visitor="A", revenue=25_00, event_data={"product_id": "pro"}
    )
    await workspace_client.knows()
    assert await metric_values(workspace_client, "cogs") == {"cogs": (3.0, None)}
    add_order(workspace_client, "O2", "2026-07-03T10:00", 100_00)
    await workspace_client.knows(workspace_client.story.events[-1])
    assert await metric_values(workspace_client, "cogs") == {"cogs": (None, "insufficient_data")}
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert answer["completeness"]["costs"]["covered_revenue_share"] == 0.5
    add_order(workspace_client, "O3", "2026-07-04T10:00", 20_00, ("LATE", 1, 20))
    await workspace_client.knows(workspace_client.story.events[-1])
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert answer["completeness"]["costs"]["covered_revenue_share"] == 0.454545


async def test_costs_split_by_provider_and_order_currency(workspace_client):
    await save_costs(workspace_client, item_cost("SHIRT", 2, 1))
    add_order(workspace_client, "O1", "2026-07-02T10:00", 10_00, ("SHIRT", 1, 10))
    add_order(
        workspace_client,
        "O2",
        "2026-07-02T11:00",
        20_00,
        ("SHIRT", 2, 10),
        name="order_paid",
        source="shopify",
    )
    add_order(workspace_client, "O1", "2026-07-02T11:00", 10_00, source="stripe")
    await workspace_client.knows()
    rows = await run_query(workspace_client, "net_revenue", "cogs", "gross_profit", dimensions=["provider"])
    assert {row["provider"]: (row["net_revenue"], row["cogs"], row["gross_profit"]) for row in rows} == {
        "shopify": (20.0, 4.0, 16.0),
        "stripe": (10.0, 2.0, 8.0),
    }
    filtered = {"filters": [{"dimension": "provider", "value": "stripe"}]}
    assert await metric_values(workspace_client, "cogs", **filtered) == {"cogs": (2.0, None)}
    (row,) = await run_query(workspace_client, "cogs", dimensions=["currency"])
    assert (row["currency"], row["cogs"]) == ("USD", 6.0)


async def test_foreign_currency_costs_need_a_rate_unless_zero(workspace_client):
    await save_costs(workspace_client, item_cost("SHIRT", 2, 0, currency="EUR"))
    add_order(workspace_client, "O1", "2026-07-02T10:00", 10_00, ("SHIRT", 1, 10))
    await workspace_client.knows()
    assert await metric_values(workspace_client, "cogs", "shipping_costs") == {
        "cogs": (None, "missing_fx_rate"),
        "shipping_costs": (0.0, None),
    }


async def test_costs_are_null_without_an_import_and_zero_without_a_sale(workspace_client):
    await workspace_client.knows()
    assert await metric_values(workspace_client, "cogs") == {"cogs": (None, "no_cost_data")}
    await save_costs(workspace_client, item_cost("SHIRT", 2, 0))
    assert await metric_values(workspace_client, "cogs") == {"cogs": (0.0, None)}
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert answer["completeness"]["costs"] == {"complete": True, "covered_revenue_share": None}


@pytest.mark.parametrize("method", ["list_costs", "has_costs"])
async def test_unreadable_costs_are_unverified(workspace_client, monkeypatch, method):
    await save_costs(workspace_client, item_cost("SHIRT", 2, 0))
    add_order(workspace_client, "O1", "2026-07-02T10:00", 10_00, ("SHIRT", 1, 10))
    await workspace_client.knows()

    async def away(*_):
        raise StoreUnavailable

    monkeypatch.setattr(workspace_client.service.ports.workspace.item_costs, method, away)
    sent = "&".join(f"{name}={value}" for name, value in WEEK.items())
    status, answer = await workspace_client.ask("GET", "/commerce-metrics", sent)
    assert (status, answer["reason"]) == (503, "costs_unverified")
