"""Fees, profit and margin: by what providers report, else by the rates of the workspace, else with the reason."""

from dataclasses import replace

import pytest

from service_core.access.analytics_settings import FeeRate
from tests.analytics.deployment import run_deployment
from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.commerce.costs.cost_data import add_order, item_cost, save_costs

WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}

METRICS = ["fees", "profit", "margin"]


@pytest.fixture(params=["memory", "duckdb"])
async def workspace_client(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield await served.workspace()


async def set_fee_rates(workspace_client, *rates):
    ports = workspace_client.service.ports.workspace
    found = await ports.credentials.list_workspaces()
    workspace = next(one for one in found if one.id == workspace_client.workspace.id)
    changed = replace(workspace, rules=replace(workspace.rules, fees=rates))
    await ports.workspace_settings.replace_workspace_keeping_triggers(changed)


async def sell_and_advertise(workspace_client):
    """100.00 through Stripe and 50.00 tracked, of items that cost 30.00 each; 20.00 of ads."""
    item, at = ("A-1", 1, "100"), "2026-07-02T12:00"
    add_order(workspace_client, "in_1", at, 100_00, item, source="stripe", payment_id="pi_1")
    add_order(workspace_client, "2", at, 50_00, item)
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, spend_row("meta", ad_campaign("c1"), "2026-07-02", spend=20_00))
    await save_costs(workspace_client, item_cost("A-1", "30", "0"))


async def read_values(workspace_client):
    answer = await workspace_client.post("/metrics", {"metrics": METRICS, **WEEK})
    reasons = {each["metric"]: each["reason"] for each in answer["unavailable"]}
    return [metric["value"] for metric in answer["metrics"]], reasons


async def test_profit_names_unknown_fees_as_the_reason(workspace_client):
    await sell_and_advertise(workspace_client)
    await workspace_client.knows()
    values, reasons = await read_values(workspace_client)
    assert values == [None, None, None]
    assert reasons == dict.fromkeys(METRICS, "fees_unknown")


async def test_reported_fee_completes_the_charge_and_profit(workspace_client):
    await sell_and_advertise(workspace_client)
    workspace_client.story.add_event(
        "payment_fee",
        at="2026-07-02T12:00",
        visitor="in_1",
        source="stripe",
        revenue=0,
        fee=3_20,
        payment_id="pi_1",
    )
    await workspace_client.knows()
    profit = 150 - 60 - 3.2 - 20
    assert await read_values(workspace_client) == ([3.2, profit, round(profit / 150, 6)], {})
    rows = await workspace_client.post(
        "/query",
        {
            "metrics": ["fees", "orders"],
            "dimensions": ["provider"],
            **WEEK,
            "order_by": [{"field": "provider", "direction": "asc"}],
        },
    )
    assert [list(row.values()) for row in rows["rows"]] == [["stripe", 3.2, 1], ["tracked", 0.0, 1]]


async def test_rate_of_the_workspace_gives_the_fees_nobody_reports(workspace_client):
    await sell_and_advertise(workspace_client)
    await workspace_client.knows()
    await set_fee_rates(workspace_client, FeeRate("stripe", 29_000, 30, "USD"), FeeRate("tracked", 10_000))
    fees = 100 * 0.029 + 0.3 + 50 * 0.01
    profit = 150 - 60 - fees - 20
    assert await read_values(workspace_client) == ([fees, profit, round(profit / 150, 6)], {})
    await set_fee_rates(workspace_client, FeeRate("stripe", 29_000, 30, "EUR"))
    assert (await read_values(workspace_client))[1] == dict.fromkeys(METRICS, "fees_unknown")
