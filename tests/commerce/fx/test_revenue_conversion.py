"""Money of events in other currencies, told in that of the workspace wherever money is told."""

import pytest

from service_core.testing.event_builder import campaign_columns
from tests.analytics.deployment import STORES
from tests.commerce.ads.ad_spend_data import ad_campaign as ad_campaign
from tests.commerce.ads.ad_spend_data import connect_ad_platform, save_spend, spend_row
from tests.commerce.fx.exchange_rate_data import deployment_with_rates, save_rates
from tests.fixtures.compact_rows import rows_without_bucket_details

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
RATES = {"2026-07-01": {"USD": "1.10", "JPY": "165"}, "2026-07-03": {"USD": "1.20"}}


@pytest.fixture
async def workspace_client(request, tmp_path):
    async with deployment_with_rates(tmp_path, getattr(request, "param", "memory")) as served:
        yield await served.workspace(timezone="UTC")


@pytest.fixture
async def sales_in_three_currencies(workspace_client):
    """10.00 EUR worth 11.00, half of it given back; 1,500 JPY worth 10.00; 5.00 USD."""
    page = {"visitor": "A1", "session": "s1"}
    workspace_client.story.add_event(
        "page_view", at="2026-07-01T09:00", **page, **campaign_columns("google", "cpc", "spring")
    )
    euros = {"currency": "EUR", "order_id": "O1", **page}
    workspace_client.story.add_event("purchase", at="2026-07-01T10:00", revenue=10_00, **euros)
    workspace_client.story.add_event("refund", at="2026-07-06T10:00", revenue=-5_00, **euros)
    workspace_client.story.add_event(
        "purchase", at="2026-07-02T10:00", revenue=1500, currency="JPY", order_id="O2", **page
    )
    workspace_client.story.add_event(
        "purchase", at="2026-07-02T11:00", revenue=5_00, order_id="O3", visitor="A2"
    )
    await workspace_client.knows()
    return workspace_client


async def metric_values(workspace_client, *metrics, **fields):
    answer = await workspace_client.post("/metrics", {"metrics": list(metrics), "date_range": WEEK, **fields})
    return [one["unavailable_reason"] or one["value"] for one in answer["metrics"]]


@pytest.mark.parametrize("workspace_client", STORES, indirect=True)
async def test_every_endpoint_returns_the_same_converted_revenue(sales_in_three_currencies):
    names = ("revenue", "refunds", "net_revenue", "aov", "attributed_net_revenue", "orders")
    without = ["missing_fx_rate"] * 5 + [3]
    assert await metric_values(sales_in_three_currencies, *names) == without
    await save_rates(sales_in_three_currencies, RATES)
    assert await metric_values(sales_in_three_currencies, *names) == [26.0, 5.5, 20.5, 8.67, 15.5, 3]
    answer = await sales_in_three_currencies.get("/revenue", **_dates())
    assert (answer["combined"]["revenue"], answer["combined"]["net_revenue"]) == (26.0, 20.5)
    credited = await sales_in_three_currencies.get("/attribution", **_dates())
    best = credited["channels"][0]
    assert (best["channel"], best["revenue"], best["net_revenue"]) == ("paid_search", 21.0, 15.5)
    assert credited["totals"]["net_revenue"] == 20.5
    by_day = {
        "metrics": ["revenue", "net_revenue"],
        "date_range": WEEK,
        "interval": "day",
        "format": "compact",
    }
    rows = rows_without_bucket_details(await sales_in_three_currencies.post("/query", by_day))
    assert {at[:10]: found for at, *found in rows if any(found)} == {
        "2026-07-01": [11.0, 11.0], "2026-07-02": [15.0, 15.0], "2026-07-06": [0, -5.5],
    }  # fmt: skip


async def test_credits_by_touch_date_use_the_rate_of_the_purchase(workspace_client):
    await save_rates(workspace_client, RATES | {"2026-06-19": {"USD": "1.05"}})
    page = {"visitor": "A1", "session": "s1", **campaign_columns("google", "cpc", "spring")}
    workspace_client.story.add_event("page_view", at="2026-06-20", **page)
    workspace_client.story.add_event("purchase", at="2026-07-03", revenue=10_00, currency="EUR", **page)
    await workspace_client.knows()
    answer = await workspace_client.get(
        "/attribution", start_date="2026-06-20", end_date="2026-06-20", basis="touch"
    )
    assert answer["totals"]["revenue"] == answer["channels"][0]["revenue"] == 12.0


async def test_event_rows_keep_their_original_currency(sales_in_three_currencies):
    await save_rates(sales_in_three_currencies, RATES)
    plan = {
        "metrics": ["revenue", "orders"],
        "date_range": WEEK,
        "dimensions": ["currency"],
        "format": "compact",
    }
    rows = (await sales_in_three_currencies.post("/query", plan))["rows"]
    assert rows == [["EUR", 11.0, 1], ["JPY", 10.0, 1], ["USD", 5.0, 1]]
    events = (await sales_in_three_currencies.get("/events", event_name="purchase", **_dates()))["events"]
    assert sorted((one["currency"], one["revenue"]) for one in events) == [
        ("EUR", 10.0), ("JPY", 1500.0), ("USD", 5.0),
    ]  # fmt: skip


async def test_full_refund_nets_to_zero_despite_changed_rates(workspace_client):
    await save_rates(workspace_client, RATES)
    order = {"visitor": "A1", "currency": "EUR", "order_id": "O1"}
    workspace_client.story.add_event("purchase", at="2026-07-01", revenue=99_99, **order)
    workspace_client.story.add_event("refund", at="2026-07-06", revenue=-99_99, **order)
    await workspace_client.knows()
    assert await metric_values(workspace_client, "revenue", "refunds", "net_revenue") == [109.99, 109.99, 0]


async def test_sums_without_a_rate_are_null_and_others_are_not(sales_in_three_currencies):
    await save_rates(sales_in_three_currencies, RATES)
    sales_in_three_currencies.story.add_event(
        "purchase", at="2026-07-04", visitor="A9", revenue=1, currency="XTS"
    )
    await sales_in_three_currencies.knows(sales_in_three_currencies.story.events[-1])
    assert await metric_values(sales_in_three_currencies, "revenue", "orders", "refunds") == [
        "missing_fx_rate",
        4,
        5.5,
    ]
    in_euros = [{"dimension": "currency", "value": "EUR"}]
    assert await metric_values(sales_in_three_currencies, "revenue", filters=in_euros) == [11.0]


async def test_spend_and_revenue_are_converted_to_one_currency(sales_in_three_currencies):
    await connect_ad_platform(sales_in_three_currencies, "meta")
    await save_spend(
        sales_in_three_currencies,
        spend_row("meta", ad_campaign("c1"), "2026-07-01", currency="EUR", spend=10_00),
    )
    assert await metric_values(sales_in_three_currencies, "mer") == ["missing_fx_rate"]
    await save_rates(sales_in_three_currencies, RATES)
    assert await metric_values(sales_in_three_currencies, "ad_spend", "mer") == [11.0, 1.863636]


@pytest.mark.parametrize("workspace_client", STORES, indirect=True)
async def test_person_and_cohort_revenue_is_converted(sales_in_three_currencies):
    people = {"start_date": "2026-07-01", "end_date": "2026-07-07", "sort_by": "revenue"}
    week = {"start_date": "2026-07-01", "end_date": "2026-07-08", "granularity": "day"}
    assert [one["revenue"] for one in (await sales_in_three_currencies.get("/users", **people))["users"]] == [
        None,
        5.0,
    ]
    assert (await sales_in_three_currencies.get("/ltv", **week))["rows"][0]["revenue"] is None
    await save_rates(sales_in_three_currencies, RATES)
    users = (await sales_in_three_currencies.get("/users", **people))["users"]
    assert [one["revenue"] for one in users] == [21.0, 5.0]
    rows = (await sales_in_three_currencies.get("/ltv", **week))["rows"]
    first = {row["period"]: row["cumulative_revenue"] for row in rows if row["cohort_start"] == "2026-07-01"}
    assert (first[0], first[1], first[5]) == (11.0, 21.0, 15.5)
    one = await sales_in_three_currencies.get(f"/users/{users[0]['visitor_id']}", window_days=30)
    assert (one["user"]["revenue"], one["user"]["lifetime"]["revenue"]) == (21.0, 21.0)
    assert [session["revenue"] for session in one["sessions"]] == [21.0]


def _dates():
    return {"start_date": "2026-07-01", "end_date": "2026-07-07"}
