"""Spend of accounts in other currencies, told in that of the workspace."""

import pytest

from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.commerce.fx.exchange_rate_data import deployment_with_rates, save_rates

WEEK = {"date_from": "2026-07-01", "date_through": "2026-07-07"}
SPEND_METRICS = {"from": "2026-07-01", "to": "2026-07-07"}


@pytest.fixture
async def workspace_client(tmp_path):
    async with deployment_with_rates(tmp_path) as served:
        workspace_client = await served.workspace()
        await connect_ad_platform(workspace_client, "meta")
        yield workspace_client


def spend_in_euros(day, **figures):
    return spend_row("meta", ad_campaign("e"), day, account="act_2", currency="EUR", **figures)


def spend_in_yen(day, **figures):
    return spend_row("meta", ad_campaign("y"), day, account="act_3", currency="JPY", **figures)


def spend_in_dollars(day, **figures):
    return spend_row("meta", ad_campaign("d"), day, **figures)


async def run_query(workspace_client, **fields):
    plan = {"metrics": ["ad_spend"], "date_range": SPEND_METRICS, "format": "compact"}
    return await workspace_client.post("/query", plan | fields)


async def test_spend_is_converted_by_the_rate_of_its_day(workspace_client):
    await save_rates(
        workspace_client, {"2026-07-01": {"USD": "1.10", "JPY": "165"}, "2026-07-03": {"USD": "1.20"}}
    )
    await save_spend(
        workspace_client,
        spend_in_dollars("2026-07-01", spend=10_00, clicks=10),
        spend_in_euros("2026-07-01", spend=10_00, clicks=10),  # 11.00
        spend_in_euros("2026-07-04", spend=10_00, clicks=10),  # 12.00, of the day before
        spend_in_yen("2026-07-02", spend=1500, clicks=10),  # 1500 / 165 x 1.10 = 10.00
    )
    answer = await workspace_client.get("/ads", **WEEK)
    assert [(each["currency"], each["spend"]) for each in answer["ads"]] == [
        ("JPY", 1500.0), ("EUR", 20.0), ("USD", 10.0),
    ]  # fmt: skip
    assert (answer["currency"], answer["totals"]["spend"], answer["totals"]["cpc"]) == ("USD", 43.0, 1.08)
    assert "missing_fx_rate" not in {one["reason"] for one in answer["totals_unavailable"]}
    by_campaign = await run_query(workspace_client, dimensions=["campaign_id"])
    assert by_campaign["rows"] == [["e", 23.0], ["d", 10.0], ["y", 10.0]]
    by_day = await run_query(workspace_client, interval="day")
    assert [row[-1] for row in by_day["rows"]] == [21.0, 10.0, 0, 12.0, 0, 0, 0]
    assert by_day["totals"] == {"ad_spend": 43.0}


async def test_spend_of_a_day_without_a_rate_makes_sums_null(workspace_client):
    await save_rates(workspace_client, {"2026-07-03": {"USD": "1.20"}})
    await save_spend(
        workspace_client,
        spend_in_dollars("2026-07-02", spend=1_00),
        spend_in_euros("2026-07-02", spend=1_00),
        spend_in_euros("2026-07-04", spend=1_00),
    )
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] is None
    by_day = await run_query(workspace_client, interval="day")
    assert [row[-1] for row in by_day["rows"]] == [0, None, 0, 1.2, 0, 0, 0]
    assert by_day["meta"]["unavailable"] == [{"metric": "ad_spend", "reason": "missing_fx_rate"}]
    await save_rates(workspace_client, {"2026-07-01": {"USD": "1.10"}})
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] == 3.3


async def test_currency_added_later_is_converted(workspace_client):
    await save_rates(workspace_client, {"2026-07-01": {"USD": "1.10", "JPY": "165"}})
    await save_spend(workspace_client, spend_in_euros("2026-07-01", spend=1_00))
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] == 1.1
    await save_spend(workspace_client, spend_in_yen("2026-07-01", spend=300))
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] == 3.1
    await save_spend(
        workspace_client, spend_row("meta", ad_campaign("x"), "2026-07-01", currency="XTS", spend=1)
    )
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] is None


async def test_sums_are_rounded_once(workspace_client):
    await save_rates(workspace_client, {"2026-07-01": {"USD": "1.005"}})
    await save_spend(
        workspace_client, *(spend_in_euros(f"2026-07-0{day}", spend=1_00) for day in range(1, 5))
    )
    assert (await workspace_client.get("/ads", **WEEK))["totals"]["spend"] == 4.02
