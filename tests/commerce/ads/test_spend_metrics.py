"""Metrics of ad spend, with numbers worked out by hand."""

from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.testing import event_builder
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.ads.ad_spend_data import (
    ad,
    ad_campaign,
    ad_group,
    connect_ad_platform,
    save_spend,
    spend_row,
)
from tests.fixtures.compact_rows import rows_without_bucket_details

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
CLAIMS = ["platform_conversions", "platform_conversion_value", "platform_roas", "platform_cpa"]


@pytest.fixture
async def served(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield served


@pytest.fixture
async def workspace_client(served):
    return await served.workspace()


async def metric_values(workspace_client, *metrics, date_range=WEEK, **fields):
    answer = await workspace_client.post(
        "/metrics", {"metrics": list(metrics), "date_range": date_range, **fields}
    )
    return {
        each["id"]: each["value"] if each["available"] else each["unavailable_reason"]
        for each in answer["metrics"]
    }


async def query_rows(workspace_client, *metrics, date_range=WEEK, **plan):
    plan = {"metrics": list(metrics), "date_range": date_range, "format": "compact", **plan}
    return rows_without_bucket_details(await workspace_client.post("/query", plan))


async def test_every_metric_of_ads_has_its_value(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), spend=30_00, impressions=4000, clicks=40, conversions=1.5, conversion_value=45_00),
        spend_row("meta", ad_campaign("c1"), "2026-07-07", spend=10_00, impressions=1000, clicks=10, conversions=0.5,
            conversion_value=15_00),
        spend_row("meta", ad_campaign("c1"), "2026-07-08", spend=99_00, impressions=1, clicks=1, conversions=9),
    )  # fmt: skip
    assert await metric_values(
        workspace_client, "ad_spend", "impressions", "clicks", "ctr", "cpc", "cpm", *CLAIMS, "mer", "cpa"
    ) == {
        "ad_spend": 40.0, "impressions": 5000, "clicks": 50, "ctr": 0.01, "cpc": 0.8, "cpm": 8.0,
        "platform_conversions": 2, "platform_conversion_value": 60.0, "platform_roas": 1.5,
        "platform_cpa": 20.0, "mer": 0.0, "cpa": None,
    }  # fmt: skip


async def test_spend_and_attributed_revenue_give_roas(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, spend_row("meta", ad_campaign("c1"), spend=50_00, clicks=10))
    workspace_client.story.add_event(
        "page_view", at="2026-07-01T10:00", visitor="A", **event_builder.campaign_columns("facebook", "cpc")
    )
    workspace_client.story.add_event(
        "purchase", at="2026-07-02T10:00", visitor="A", order_id="1", revenue=200_00, currency="USD"
    )
    await workspace_client.knows()
    assert await metric_values(workspace_client, "mer", "roas", "attributed_roas", "cac", "attributed_cpa", "cpa") == {
        "mer": 4.0, "roas": 4.0, "attributed_roas": 4.0, "cac": 50.0, "attributed_cpa": 50.0, "cpa": 50.0,
    }  # fmt: skip


async def test_spend_level_follows_the_dimension(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), spend=100_00),
        spend_row("meta", ad_group("g1"), spend=60_00),
        spend_row("meta", ad_group("g2"), spend=30_00),
        spend_row("meta", ad("a1"), spend=20_00),
    )
    assert await query_rows(workspace_client, "ad_spend", dimensions=["campaign_id"]) == [["c1", 100.0]]
    assert await query_rows(workspace_client, "ad_spend", dimensions=["ad_group_name"]) == [
        ["g1", 60.0],
        ["g2", 30.0],
    ]
    assert await query_rows(workspace_client, "ad_spend", dimensions=["campaign_name", "ad_id"]) == [
        ["c1", "a1", 20.0]
    ]
    assert await metric_values(
        workspace_client, "ad_spend", filters=[{"dimension": "ad_group_id", "value": "g2"}]
    ) == {"ad_spend": 30.0}


@pytest.mark.parametrize(
    ("condition", "spend"),
    [
        ({"value": "Summer"}, 10.0),
        ({"op": "neq", "value": "Summer"}, 22.0),
        ({"op": "in", "value": ["Summer", "(not set)"]}, 12.0),
        ({"op": "contains", "value": "summ"}, 30.0),
        ({"op": "not_contains", "value": "SUMM"}, 2.0),
        ({"op": "starts_with", "value": "summer s"}, 20.0),
        ({"op": "is_set"}, 30.0),
        ({"op": "is_not_set"}, 2.0),
        ({"op": "between", "value": ["Summer", "Summer1"]}, 30.0),
        ({"value": "Sumer"}, 0.0),
    ],
)  # fmt: skip
async def test_filters_on_spend_behave_like_event_filters(workspace_client, condition, spend):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1", "Summer"), spend=10_00),
        spend_row("meta", ad_campaign("c2", "Summer sale"), spend=20_00),
        spend_row("meta", replace(ad_campaign("c3"), campaign_name=None), spend=2_00),
    )
    found = await metric_values(
        workspace_client, "ad_spend", filters=[{"dimension": "campaign_name", **condition}]
    )
    assert found == {"ad_spend": spend}


async def test_rows_are_ordered_and_cut_in_the_order_asked(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        *(spend_row("meta", ad_campaign(f"c{n}"), spend=n * 100, clicks=9 - n) for n in range(1, 6)),
    )
    parameters = {"dimensions": ["campaign_id"], "limit": 2}
    assert await query_rows(workspace_client, "ad_spend", **parameters) == [["c5", 5.0], ["c4", 4.0]]
    by_price = [{"field": "cpc", "direction": "asc"}]
    assert await query_rows(workspace_client, "cpc", order_by=by_price, **parameters) == [
        ["c1", 0.12],
        ["c2", 0.29],
    ]
    first = await workspace_client.post("/query", {"metrics": ["ad_spend"], "date_range": WEEK, **parameters})
    rest = await workspace_client.post(
        "/query",
        {"metrics": ["ad_spend"], "date_range": WEEK, **parameters, "cursor": first["meta"]["next_cursor"]},
    )
    assert (first["totals"]["ad_spend"], [each["campaign_id"] for each in rest["rows"]]) == (
        15.0,
        ["c3", "c2"],
    )


async def test_claimed_conversions_need_a_filter_on_one_platform(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "google")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), spend=10_00, conversions=2, conversion_value=40_00),
        spend_row("google", ad_campaign("9"), spend=20_00, conversions=4, conversion_value=60_00),
    )
    result = await metric_values(workspace_client, "ad_spend", *CLAIMS)
    assert result == {"ad_spend": 30.0, **dict.fromkeys(CLAIMS, "multiple_platforms")}
    for condition in ({"value": "google"}, {"op": "in", "value": ["google"]}):
        requests = [{"dimension": "platform", **condition}]
        assert list((await metric_values(workspace_client, *CLAIMS, filters=requests)).values()) == [
            4,
            60.0,
            3.0,
            5.0,
        ]
    both = [{"dimension": "platform", "op": "in", "value": ["google", "meta"]}]
    assert set((await metric_values(workspace_client, *CLAIMS, filters=both)).values()) == {
        "multiple_platforms"
    }
    plan = {
        "metrics": ["platform_conversions"],
        "date_range": WEEK,
        "dimensions": ["platform"],
        "compare": "previous_period",
    }
    answer = await workspace_client.post("/query", plan)
    assert answer["rows"] == [
        {"platform": "google", "platform_conversions": 4},
        {"platform": "meta", "platform_conversions": 2},
    ]
    assert answer["totals"] == {"platform_conversions": None}
    assert [each["platform_conversions"] for each in answer["comparison"]["rows"]] == [0, 0]
    catalog = (await workspace_client.get("/metrics/catalog"))["metrics"]
    assert {each["availability"]["reason"] for each in catalog if each["id"] in CLAIMS} == {
        "multiple_platforms"
    }


async def test_disconnected_platform_still_counts_as_another_platform(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), conversions=2),
        spend_row("google", ad_campaign("9"), conversions=4),
    )
    assert await metric_values(workspace_client, "platform_conversions") == {
        "platform_conversions": "multiple_platforms"
    }


async def test_foreign_currency_spend_needs_a_rate_unless_zero(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    euros = spend_row(
        "meta", ad_campaign("c2"), account="act_2", currency="EUR", spend=0, clicks=1, conversion_value=0
    )
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), spend=10_00, clicks=1, conversion_value=5_00),
        euros,
    )
    assert await metric_values(workspace_client, "ad_spend", "platform_roas") == {
        "ad_spend": 10.0,
        "platform_roas": 0.5,
    }
    await save_spend(
        workspace_client,
        spend_row(
            "meta", ad_campaign("c2"), "2026-07-02", account="act_2", currency="EUR", spend=1_00, clicks=2
        ),
    )
    result = await metric_values(workspace_client, "ad_spend", "clicks", "cpc", "mer")
    assert result == {
        "ad_spend": "missing_fx_rate",
        "clicks": 4,
        "cpc": "missing_fx_rate",
        "mer": "missing_fx_rate",
    }
    requests = [{"dimension": "campaign_id", "value": "c1"}]
    assert await metric_values(workspace_client, "ad_spend", filters=requests) == {"ad_spend": 10.0}


async def test_missing_figure_is_null_and_not_zero(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        spend_row("meta", ad_campaign("c1"), spend=10_00, clicks=3),
        spend_row("meta", ad_campaign("c2"), spend=5_00),
    )
    assert await metric_values(workspace_client, "ad_spend", "clicks", "cpc") == {
        "ad_spend": 15.0, "clicks": "insufficient_data", "cpc": "insufficient_data",
    }  # fmt: skip
    assert await query_rows(workspace_client, "clicks", dimensions=["campaign_id"]) == [
        ["c1", 3],
        ["c2", None],
    ]


async def test_spend_is_null_without_a_platform_and_zero_with_one(workspace_client):
    assert await metric_values(workspace_client, "ad_spend", "profit") == {
        "ad_spend": "no_ad_platform",
        "profit": "no_cost_data",
    }
    await connect_ad_platform(workspace_client, "meta", read=None)
    assert await metric_values(workspace_client, "ad_spend") == {"ad_spend": "source_error"}
    await connect_ad_platform(workspace_client, "meta")
    assert await metric_values(workspace_client, "ad_spend", "ctr") == {"ad_spend": 0.0, "ctr": None}
    await connect_ad_platform(workspace_client, "google", status=ConnectionStatus.ERROR)
    assert await metric_values(workspace_client, "ad_spend") == {"ad_spend": "source_error"}


async def test_filter_on_one_platform_uses_the_freshness_of_that_platform(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await connect_ad_platform(workspace_client, "google", status=ConnectionStatus.ERROR)
    await save_spend(workspace_client, spend_row("meta", ad_campaign("c1"), spend=10_00))
    values = {}
    for op, value in (("eq", "meta"), ("in", ["meta"]), ("eq", "google"), ("in", ["meta", "google"])):
        plan = {"filters": [{"dimension": "platform", "op": op, "value": value}], "metrics": ["ad_spend"]}
        answer = await workspace_client.post("/query", {"date_range": WEEK, **plan})
        values[op, str(value)] = answer["totals"]["ad_spend"], answer["meta"]["complete"]
    assert list(values.values()) == [(10.0, True), (10.0, True), (None, False), (None, False)]


async def test_spend_is_complete_up_to_the_last_sync(workspace_client):
    read = NOW - timedelta(hours=5)
    await connect_ad_platform(workspace_client, "meta", read=read)
    plan = {"metrics": ["ad_spend"], "date_range": {"preset": "today"}}
    meta = (await workspace_client.post("/query", plan))["meta"]
    assert (meta["complete"], meta["data_through"]) == (False, "2026-07-08T10:00:00.000Z")
    await connect_ad_platform(workspace_client, "meta", read=NOW - timedelta(hours=1))
    assert (await workspace_client.post("/query", plan))["meta"]["complete"]


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("America/New_York", "2026-03-08"),
        ("America/New_York", "2026-11-01"),
        ("Australia/Lord_Howe", "2026-04-05"),
        ("Africa/Cairo", "2026-04-24"),
        ("America/Santiago", "2026-09-06"),
        ("Asia/Kathmandu", "2026-01-01"),
    ],
)
async def test_spend_day_counts_in_the_bucket_of_its_start(served, zone, day):
    shop = await served.workspace(timezone=zone)
    served.now = NOW + timedelta(days=365)
    await connect_ad_platform(shop, "meta", read=served.now)
    dates = [f"{day[:8]}{int(day[8:]) + n:02}" for n in range(3)]
    await save_spend(
        shop, *(spend_row("meta", ad_campaign("c1"), each, spend=100 * 10**n) for n, each in enumerate(dates))
    )
    three = {"from": dates[0], "to": dates[2]}
    by_day = await query_rows(shop, "ad_spend", date_range=three, interval="day")
    assert [spend for _, spend in by_day] == [1.0, 10.0, 100.0]
    for interval in ("hour", "week", "month"):
        found = await query_rows(shop, "ad_spend", date_range=three, interval=interval)
        assert sum(spend for _, spend in found) == 111.0, interval
    hours = {
        start: spend
        for start, spend in await query_rows(shop, "ad_spend", date_range=three, interval="hour")
        if spend
    }
    assert hours == dict(by_day)


async def test_range_includes_partly_covered_spend_days(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client,
        *(spend_row("meta", ad_campaign("c1"), f"2026-07-0{n}", spend=100 * 10**n) for n in range(1, 5)),
    )
    noon = {"from": "2026-07-02T12:00", "to": "2026-07-03T12:00"}
    assert await metric_values(workspace_client, "ad_spend", date_range=noon) == {"ad_spend": 1100.0}
    found = await query_rows(workspace_client, "ad_spend", date_range=noon, interval="hour")
    assert {start: spend for start, spend in found if spend} == {
        "2026-07-02T16:00:00.000Z": 100.0,
        "2026-07-03T04:00:00.000Z": 1000.0,
    }


async def buy_after_visit(shop, visitor, day, source, revenue, *, channel="paid_search"):
    columns = event_builder.campaign_columns(source, "cpc", channel=channel)
    shop.story.add_event("page_view", at=f"{day}T10:00", visitor=visitor, **columns)
    shop.story.add_event(
        "purchase", at=f"{day}T11:00", visitor=visitor, order_id=visitor, revenue=revenue, currency="USD"
    )


async def test_roas_leaves_out_revenue_of_platforms_whose_spend_is_unknown(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, spend_row("meta", ad_campaign("c1"), spend=50_00))
    await buy_after_visit(workspace_client, "A", "2026-07-01", "facebook", 100_00)
    await buy_after_visit(workspace_client, "B", "2026-07-02", "google", 900_00)
    await buy_after_visit(workspace_client, "C", "2026-07-02", "newsletter", 70_00, channel="email")
    await workspace_client.knows()
    ids = ["roas", "attributed_roas", "mer", "cpa", "cac", "ad_spend"]
    plan = {"metrics": ids, "date_range": WEEK}
    answer = await workspace_client.post("/metrics", plan)
    values = {each["id"]: each["value"] for each in answer["metrics"]}
    assert (values["roas"], values["attributed_roas"], values["mer"]) == (2.0, 2.0, 21.4)
    left_out = [
        {"metric": id_, "reason": "no_ad_platform", "platform": "google"}
        for id_ in ("roas", "attributed_roas")
    ]
    assert (answer["complete"], answer["unavailable"]) == (False, left_out)
    meta = (await workspace_client.post("/query", plan))["meta"]
    assert (meta["complete"], meta["unavailable"]) == (False, left_out)
    for id_, complete in (("mer", False), ("cpa", False), ("cac", False), ("ad_spend", True)):
        alone = await workspace_client.post("/metrics", {"metrics": [id_], "date_range": WEEK})
        assert (alone["complete"], alone["unavailable"]) == (complete, []), id_
    profit = await workspace_client.get(
        "/commerce-metrics", start_date="2026-07-01T00:00:00-04:00", end_date="2026-07-08T00:00:00-04:00"
    )
    assert (profit["roas"], profit["completeness"]["spend"]["complete"]) == (2.0, False)
    assert {"metric": "roas", "reason": "no_ad_platform", "platform": "google"} in profit["unavailable"]
    await connect_ad_platform(workspace_client, "google")
    connected = await workspace_client.post("/metrics", {"metrics": ["roas"], "date_range": WEEK})
    assert (connected["metrics"][0]["value"], connected["complete"]) == (20.0, True)
