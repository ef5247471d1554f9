"""`GET /commerce-metrics`, with numbers worked out by hand."""

from datetime import timedelta
from operator import attrgetter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.ports import QueryTimeout, StoreUnavailable
from service_core.analytics.query.sources import SourceState
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.timestamps import format_timestamp
from service_core.testing import event_builder
from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.ads.ad_spend_data import (
    ad_campaign,
    connect_ad_platform,
    load_advertising_world,
    save_spend,
    spend_row,
)
from tests.mcp.mcp_client import connect_client

WEEK = {"start_date": "2026-07-01T04:00Z", "end_date": "2026-07-08T04:00Z"}
"""Seven days of New York."""

END = "2026-07-08T04:00:00.000Z"
WITHOUT_COSTS = {"cogs", "shipping_costs", "profit", "margin"}


@pytest.fixture
async def served(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield served


@pytest.fixture
async def workspace_client(served):
    return await served.workspace()


def add_week_of_sales(workspace_client):
    """200.00 by an ad and 40.00 by a mail in the week, of which 50.00 came back; 90.00 just after it, and 70.00 before."""
    workspace_client.story.add_event(
        "page_view", at="2026-07-01T10:00", visitor="A", **event_builder.campaign_columns("facebook", "cpc")
    )
    workspace_client.story.add_event(
        "page_view",
        at="2026-07-01T10:00",
        visitor="B",
        **event_builder.campaign_columns("news", "email", channel="email"),
    )
    for visitor, at, amount in (
        ("C", "2026-06-30T12:00", 70_00), ("A", "2026-07-02T10:00", 200_00), ("B", "2026-07-03T10:00", 40_00),
        ("C", "2026-07-04T10:00", 60_00), ("D", "2026-07-08T04:00:00", 90_00),
    ):  # fmt: skip
        workspace_client.story.add_event(
            "purchase", at=at, visitor=visitor, order_id=visitor + at, revenue=amount
        )
    back = {"visitor": "A", "order_id": "A2026-07-02T10:00", "revenue": 50_00}
    workspace_client.story.add_event("refund", at="2026-07-06T10:00", **back)


def make_week_of_spend():
    """100.00 on seven days, 60.00 on the days around them."""
    yield spend_row("meta", ad_campaign("c1"), "2026-06-30", spend=30_00, conversion_value=1_00)
    for day in range(1, 8):
        figures = {"spend": 100_00 // 7 + (day == 1) * 4, "conversion_value": 30_00}
        yield spend_row("meta", ad_campaign("c1"), f"2026-07-0{day}", **figures)
    yield spend_row("meta", ad_campaign("c1"), "2026-07-08", spend=30_00, conversion_value=1_00)


async def test_commerce_metrics_of_a_week_of_sales_and_ads(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, *make_week_of_spend())
    add_week_of_sales(workspace_client)
    await workspace_client.knows()
    assert await workspace_client.get("/commerce-metrics", **WEEK) == {
        "start_date": "2026-07-01T04:00:00.000Z", "end_date": END,
        "timezone": "America/New_York", "currency": "USD",
        "gross_revenue": 300.0, "discounts": 0.0, "revenue": 300.0, "refunds": 50.0, "net_revenue": 250.0,
        "shipping": 0.0, "taxes": 0.0, "fees": 0.0,
        "orders": 3, "aov": 100.0, "new_customers": 2,
        "spend": 100.0, "cogs": None, "shipping_costs": None, "profit": None, "margin": None,
        "roas": 1.5, "platform_roas": 2.1, "mer": 2.5, "cac": 50.0,
        "attribution": {"model": "last_non_direct", "window_days": 30}, "refund_basis": "refund",
        "unavailable": [
            {"metric": id_, "reason": "no_cost_data"} for id_ in ("cogs", "shipping_costs", "profit", "margin")
        ],
        "completeness": {
            "complete": False,
            "revenue": {"complete": True, "through": END},
            "spend": {
                "complete": True, "through": END,
                "platforms": [{"platform": "meta", "complete": True, "through": END}],
            },
            "costs": {"complete": False, "covered_revenue_share": None},
        },
    }  # fmt: skip


async def test_end_is_exclusive_and_can_be_now(workspace_client):
    add_week_of_sales(workspace_client)
    await workspace_client.knows()
    hour_more = {**WEEK, "end_date": "2026-07-08T05:00Z"}
    assert (await workspace_client.get("/commerce-metrics", **hour_more))["orders"] == 4
    assert (await workspace_client.get("/commerce-metrics", **WEEK))["orders"] == 3
    until_now = await workspace_client.get("/commerce-metrics", **{**WEEK, "end_date": format_timestamp(NOW)})
    assert (until_now["orders"], until_now["end_date"]) == (4, "2026-07-08T15:00:00.000Z")
    as_days = await workspace_client.get("/commerce-metrics", start_date="2026-07-01", end_date="2026-07-08")
    assert (as_days["orders"], as_days["start_date"], as_days["end_date"]) == (
        3, "2026-07-01T04:00:00.000Z", END,
    )  # fmt: skip


async def test_spend_days_count_whole_when_partly_in_the_range(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(workspace_client, *make_week_of_spend())
    days_of_utc = {"start_date": "2026-07-01T00:00Z", "end_date": "2026-07-08T00:00Z"}
    hour_of_the_eighth = {"start_date": "2026-07-08T04:00Z", "end_date": "2026-07-08T05:00Z"}
    assert (await workspace_client.get("/commerce-metrics", **days_of_utc))["spend"] == 130.0
    assert (await workspace_client.get("/commerce-metrics", **hour_of_the_eighth))["spend"] == 30.0


async def test_refund_counts_on_its_own_day_or_on_the_order_day(workspace_client):
    workspace_client.story.add_event(
        "purchase", at="2026-06-20T12:00", visitor="A", order_id="1", revenue=40_00
    )
    workspace_client.story.add_event(
        "refund", at="2026-07-02T12:00", visitor="A", order_id="1", revenue=15_00
    )
    await workspace_client.knows()
    for basis, refunds in (("refund", 15.0), ("order", 0.0)):
        answer = await workspace_client.get("/commerce-metrics", **WEEK, refund_basis=basis)
        assert (answer["refunds"], answer["net_revenue"], answer["refund_basis"]) == (
            refunds, -refunds, basis,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        ({}, "missing_range", "start_date"),
        ({"start_date": "2026-07-01T04:00Z"}, "missing_range", "end_date"),
        ({"start_date": "", "end_date": "2026-07-01T04:00Z"}, "missing_range", "start_date"),
        ({**WEEK, "start_date": "yesterday"}, "invalid_date", "start_date"),
        ({**WEEK, "end_date": "2026-02-30T00:00Z"}, "invalid_date", "end_date"),
        ({**WEEK, "end_date": WEEK["start_date"]}, "range_inverted", "end_date"),
        ({"start_date": WEEK["end_date"], "end_date": WEEK["start_date"]}, "range_inverted", "end_date"),
        ({**WEEK, "start_date": "2026-07-01T04:30Z"}, "not_hour_aligned", "start_date"),
        ({**WEEK, "end_date": "2026-07-08T04:00:00.001Z"}, "not_hour_aligned", "end_date"),
        ({**WEEK, "end_date": "2026-07-08T04:00+05:30"}, "not_hour_aligned", "end_date"),
        ({**WEEK, "end_date": "2026-07-08T16:00Z"}, "end_in_future", "end_date"),
        ({**WEEK, "start_date": "2025-07-07T03:00Z"}, "range_too_long", "end_date"),
        ({**WEEK, "refund_basis": "never"}, "invalid_parameter", "refund_basis"),
    ],
)
async def test_malformed_range_is_refused_with_its_reason(workspace_client, sent, code, field):
    query = "&".join(f"{name}={text.replace('+', '%2B')}" for name, text in sent.items())
    status, body = await workspace_client.ask("GET", "/commerce-metrics", query)
    assert (status, body["reason"], body["code"], body["field"]) == (400, code, code, field)
    if code in ("missing_range", "invalid_date"):
        assert body["error"] == "start_date and end_date required (ISO 8601)"


async def test_range_of_366_days_is_accepted(workspace_client):
    parameters = {**WEEK, "start_date": "2025-07-07T04:00Z"}
    assert (await workspace_client.get("/commerce-metrics", **parameters))["revenue"] == 0.0


async def test_unconnected_source_is_null_and_its_part_incomplete(workspace_client):
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    unknown = {name for name, value in answer.items() if value is None}
    assert unknown == WITHOUT_COSTS | {"spend", "roas", "platform_roas", "mer", "cac", "aov"}
    assert answer["completeness"] == {
        "complete": False,
        "revenue": {"complete": True, "through": END},
        "spend": {"complete": False, "through": None, "platforms": []},
        "costs": {"complete": False, "covered_revenue_share": None},
    }
    await connect_ad_platform(workspace_client, "openai")
    await connect_ad_platform(workspace_client, "google", status=ConnectionStatus.DISCONNECTED)
    assert await workspace_client.get("/commerce-metrics", **WEEK) == answer


async def test_claimed_conversions_and_freshness_are_listed_per_platform(workspace_client):
    read = NOW - timedelta(hours=12)
    await connect_ad_platform(workspace_client, "tiktok", read=read)
    await connect_ad_platform(workspace_client, "google", read=NOW - timedelta(hours=1))
    await save_spend(
        workspace_client,
        spend_row("tiktok", ad_campaign("t"), spend=10_00, conversion_value=20_00),
        spend_row("google", ad_campaign("g"), spend=30_00, conversion_value=20_00),
    )
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert (answer["spend"], answer["mer"], answer["platform_roas"]) == (40.0, 0.0, None)
    assert answer["completeness"]["spend"] == {
        "complete": False,
        "through": format_timestamp(read),
        "platforms": [
            {"platform": "google", "complete": True, "through": END},
            {"platform": "tiktok", "complete": False, "through": format_timestamp(read)},
        ],
    }
    before = {**WEEK, "end_date": format_timestamp(read)}
    assert (await workspace_client.get("/commerce-metrics", **before))["completeness"]["spend"]["complete"]


async def test_missing_rate_makes_its_part_incomplete(workspace_client):
    await connect_ad_platform(workspace_client, "meta")
    await save_spend(
        workspace_client, spend_row("meta", ad_campaign("c"), spend=10_00, conversion_value=1_00)
    )
    workspace_client.story.add_event(
        "purchase", at="2026-07-02T10:00", visitor="A", revenue=10_00, currency="EUR"
    )
    await workspace_client.knows()
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert {name: answer[name] for name in ("revenue", "net_revenue", "refunds", "orders", "spend", "mer")} == {
        "revenue": None, "net_revenue": None, "refunds": 0.0, "orders": 1, "spend": 10.0, "mer": None,
    }  # fmt: skip
    parts = answer["completeness"]
    assert (parts["revenue"]["complete"], parts["spend"]["complete"]) == (False, True)
    await save_spend(
        workspace_client, spend_row("meta", ad_campaign("d"), currency="EUR", spend=1, conversion_value=0)
    )
    answer = await workspace_client.get("/commerce-metrics", **WEEK)
    assert (answer["spend"], answer["completeness"]["spend"]["complete"]) == (None, False)


async def test_queued_events_make_revenue_incomplete(workspace_client, monkeypatch):
    waits_since = NOW - timedelta(hours=12)

    async def behind(*_):
        return SourceState(waits_since)

    monkeypatch.setattr("service_core.analytics.query.sources.EventSource.read_state", behind)
    revenue = (await workspace_client.get("/commerce-metrics", **WEEK))["completeness"]["revenue"]
    assert revenue == {"complete": False, "through": format_timestamp(waits_since)}


async def read_unverified_parts(workspace_client):
    status, body = await workspace_client.ask(
        "GET", "/commerce-metrics", "&".join(f"{k}={v}" for k, v in WEEK.items())
    )
    assert status == 503
    assert body["reason"] == body["code"]
    return body["reason"]


@pytest.mark.parametrize("status", [ConnectionStatus.ERROR, ConnectionStatus.EXPIRED])
async def test_connection_in_error_is_refused(workspace_client, status):
    await connect_ad_platform(workspace_client, "meta", read=None)
    assert await read_unverified_parts(workspace_client) == "spend_unverified"
    await connect_ad_platform(workspace_client, "meta", status=status)
    assert await read_unverified_parts(workspace_client) == "spend_unverified"
    stripe = Connection(workspace_client.workspace.id, "stripe", ProviderKind.REVENUE, status, NOW)
    await workspace_client.service.ports.workspace.connections.save_connection_keeping_created_at(stripe)
    assert await read_unverified_parts(workspace_client) == "revenue_unverified"


@pytest.mark.parametrize(
    ("port", "call", "part"),
    [
        ("events", "aggregate", "revenue"),
        ("workspace.ad_spend", "list_platforms_with_spend", "spend"),
        ("workspace.ad_spend", "sum_latest_spend", "spend"),
        ("workspace.connections", "list_connections_oldest_first", "revenue"),
    ],
)
async def test_unavailable_store_makes_its_part_unverified(workspace_client, monkeypatch, port, call, part):
    await connect_ad_platform(workspace_client, "meta")

    async def away(*_):
        raise StoreUnavailable

    monkeypatch.setattr(type(attrgetter(port)(workspace_client.service.ports)), call, away)
    assert await read_unverified_parts(workspace_client) == f"{part}_unverified"


async def test_unreadable_costs_are_unverified_and_not_absent(workspace_client, monkeypatch):
    async def silent(source, _, now):
        return SourceState(now, dict.fromkeys(source.relations, UnavailableReason.SOURCE_ERROR))

    monkeypatch.setattr("service_core.commerce.costs.source.CostSource.read_state", silent)
    assert await read_unverified_parts(workspace_client) == "costs_unverified"


async def test_slow_read_returns_a_timeout_error(workspace_client, monkeypatch):
    async def slow(*_):
        raise QueryTimeout

    monkeypatch.setattr(type(workspace_client.service.ports.events), "aggregate", slow)
    assert await read_unverified_parts(workspace_client) == "query_timeout"


async def test_mcp_returns_the_same_commerce_metrics(served, workspace_client):
    add_week_of_sales(workspace_client)
    await workspace_client.knows()
    program = await connect_client(served.service, workspace_client.workspace, served.now)
    assert await program.call("get_commerce_metrics", **WEEK) == await workspace_client.get(
        "/commerce-metrics", **WEEK
    )


@pytest.fixture(params=["memory", "duckdb"])
async def served_by_store(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield served


@generated_examples
@given(drawn=random_datasets(60), basis=st.sampled_from(["refund", "order"]), bots=st.booleans())
async def test_values_equal_the_metrics_of_the_same_names(served_by_store, drawn, basis, bots):
    world, chance = drawn
    asking, _, _ = await load_advertising_world(served_by_store, world, chance, flawed=True)
    start, end = generated_hours(world, chance)
    parameters = {"refund_basis": basis, "include_bots": bots}
    answer = await asking.get(
        "/commerce-metrics",
        start_date=format_timestamp(start),
        end_date=format_timestamp(end),
        **{**parameters, "include_bots": int(bots)},
    )
    within = {"from": format_timestamp(start), "to": format_timestamp(end - timedelta(milliseconds=1))}
    catalog = {each["id"] for each in (await asking.get("/metrics/catalog"))["metrics"]}
    values = {("ad_spend" if name == "spend" else name): value for name, value in answer.items()}
    fields = {name: value for name, value in values.items() if name in catalog}
    assert len(fields) == 20
    asking.range = within
    assert await asking.values(*fields, **parameters) == fields


def generated_hours(world, chance: Random):
    """Some hours of a world that is over."""
    first = world.span.start.replace(minute=0)
    length = int((world.span.end - first) / timedelta(hours=1))
    start, end = sorted(chance.sample(range(length + 1), 2))
    return first + timedelta(hours=start), first + timedelta(hours=end)
