"""Costs in another currency than the workspace's, by the rate of the day of sale."""

import pytest

from tests.analytics.deployment import STORES
from tests.commerce.costs.cost_data import add_order, item_cost, save_costs
from tests.commerce.fx.exchange_rate_data import deployment_with_rates, save_rates

DAYS = {"from": "2026-07-01", "to": "2026-07-07"}


@pytest.fixture(params=STORES)
async def workspace_client(request, tmp_path):
    async with deployment_with_rates(tmp_path, request.param) as served:
        yield await served.workspace()


async def metric_values(workspace_client, *ids, **fields):
    answer = await workspace_client.post("/metrics", {"metrics": list(ids), "date_range": DAYS, **fields})
    return {one["id"]: (one["value"], one["unavailable_reason"]) for one in answer["metrics"]}


async def test_costs_and_returns_use_the_rate_of_the_day_of_sale(workspace_client):
    await save_costs(workspace_client, item_cost("SHIRT", 10, 1, currency="EUR"), item_cost("CAP", 3, 0))
    days = {"2026-06-20": "1.10", "2026-06-29": "1.10", "2026-07-01": "1.20", "2026-07-03": "1.25"}
    await save_rates(workspace_client, {day: {"USD": rate} for day, rate in days.items()})
    add_order(workspace_client, "O0", "2026-06-21T12:00", 50_00, ("SHIRT", 2, 25))
    add_order(workspace_client, "O1", "2026-07-02T12:00", 50_00, ("SHIRT", 2, 25), ("CAP", 1, 5))
    add_order(workspace_client, "O2", "2026-07-04T03:00", 25_00, ("SHIRT", 1, 25))
    add_order(workspace_client, "O0", "2026-07-05T12:00", 25_00, ("SHIRT", 1, 25), name="refund")
    await workspace_client.knows()
    assert await metric_values(workspace_client, "cogs", "shipping_costs") == {
        "cogs": (28.5, None),  # 2 x 12.00 + 3.00 + 12.50, and 11.00 back
        "shipping_costs": (2.55, None),
    }
    by_order = await metric_values(workspace_client, "cogs", refund_basis="order")
    assert by_order == {"cogs": (39.5, None)}


async def test_missing_rate_on_the_day_of_sale_makes_the_sum_null(workspace_client):
    await save_costs(workspace_client, item_cost("SHIRT", 10, 0, currency="EUR", since="2026-06-01"))
    await save_rates(workspace_client, {"2026-07-05": {"USD": "1.20"}})
    add_order(workspace_client, "O1", "2026-07-06T12:00", 25_00, ("SHIRT", 1, 25))
    await workspace_client.knows()
    assert await metric_values(workspace_client, "cogs", "shipping_costs") == {
        "cogs": (12.0, None),
        "shipping_costs": (0.0, None),
    }
    add_order(workspace_client, "O2", "2026-07-02T12:00", 25_00, ("SHIRT", 1, 25))
    await workspace_client.knows(workspace_client.story.events[-1])
    assert await metric_values(workspace_client, "cogs") == {"cogs": (None, "missing_fx_rate")}
