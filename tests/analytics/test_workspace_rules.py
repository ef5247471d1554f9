"""Settings of a workspace: conversion events, default attribution, and channels."""

import pytest

from service_core.access.analytics_settings import (
    AnalyticsSettings,
    CustomChannel,
    validate_analytics_settings,
)
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.scope import own_conversions_or_builtin_with_triggers
from service_core.kernel.errors import BadRequest
from service_core.testing.event_builder import campaign_columns

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
RANGE = {"from": "2026-07-01", "to": "2026-07-07"}


@pytest.fixture
async def workspace_client(served):
    """Ada comes by an ad on the first, returns on the fourth, then joins a webinar, signs up and pays."""
    workspace_client = await served.workspace()
    here = {"visitor": "A1", "strong_id": "U1"}
    workspace_client.story.add_event(
        "page_view", at="2026-07-01T12:00", session="a", **here, **campaign_columns("google", "cpc", "spring")
    )
    workspace_client.story.add_event(
        "page_view", at="2026-07-04T12:00", session="b", **here,
        **campaign_columns("news", "email", "july", channel="custom:crm"),
    )  # fmt: skip
    workspace_client.story.add_event("webinar", at="2026-07-04T12:01", session="b", **here)
    workspace_client.story.add_event("complete_registration", at="2026-07-04T12:02", session="b", **here)
    workspace_client.story.add_event("donation", at="2026-07-04T12:03", session="b", revenue=1000, **here)
    await workspace_client.knows()
    return workspace_client


async def count_conversions(workspace_client):
    answer = await workspace_client.post("/metrics", {"metrics": ["conversions"], "date_range": RANGE})
    return answer["metrics"][0]["value"]


async def test_workspace_without_settings_uses_the_defaults(workspace_client):
    assert await count_conversions(workspace_client) == 2
    assert own_conversions_or_builtin_with_triggers(AnalyticsSettings()) == DEFAULT_CONVERSION_SET


async def test_context_names_the_first_and_the_last_event_of_the_workspace(workspace_client):
    data = (await workspace_client.get("/context"))["data"]
    assert data["first_event_at"] == "2026-07-01T12:00:00.000Z"
    assert data["last_event_at"] == "2026-07-04T12:03:00.000Z"


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (AnalyticsSettings(conversions=frozenset({"webinar"})), ["donation", "webinar"]),
        (AnalyticsSettings(conversions=frozenset({"webinar"}), any_revenue=False), ["webinar"]),
        (AnalyticsSettings(any_revenue=False), ["complete_registration"]),
        (AnalyticsSettings(conversions=frozenset({"signup"}), any_revenue=False), ["complete_registration"]),
        (AnalyticsSettings(conversions=frozenset(), any_revenue=False), []),
    ],
)
async def test_conversion_events_apply_to_every_read_and_to_past_events(workspace_client, rules, names):
    await workspace_client.follows(rules)
    assert await count_conversions(workspace_client) == len(names)
    person = await workspace_client.get("/users/U1")
    assert sorted(conversion["event_name"] for conversion in person["conversions"]) == names
    (row,) = (await workspace_client.get("/users", **WEEK))["users"]
    assert row["conversions"] == len(names)
    totals = (await workspace_client.get("/attribution", **WEEK))["totals"]
    assert totals["conversions"] == len(names)


async def test_purchases_are_counted_by_name_regardless_of_conversion_events(workspace_client):
    here = {"visitor": "A1", "order_id": "O1"}
    for name in ("purchase", "order_paid"):
        workspace_client.story.add_event(name, at="2026-07-05T12:00", revenue=500, **here)
    await workspace_client.knows(*workspace_client.story.events[-2:])
    for rules, converted in (
        (AnalyticsSettings(), 3),
        (AnalyticsSettings(conversions=frozenset({"webinar"}), any_revenue=False), 1),
        (AnalyticsSettings(conversions=frozenset({"webinar", "purchase"})), 3),
    ):
        await workspace_client.follows(rules)
        for buckets in ({}, {"interval": "day"}, {"dimensions": ["channel"]}):
            parameters = {"metrics": ["purchases", "conversions"], "date_range": RANGE, **buckets}
            answer = await workspace_client.post("/query", parameters)
            assert list(answer["totals"].values()) == [1, converted]
            assert sum(row["purchases"] for row in answer["rows"]) == 1


async def test_orders_are_credited_regardless_of_conversion_events(workspace_client):
    here = {"visitor": "A1", "order_id": "O1"}
    workspace_client.story.add_event("purchase", at="2026-07-05T12:00", **here)
    workspace_client.story.add_event("purchase", at="2026-07-05T12:05", revenue=500, **here)
    workspace_client.story.add_event("subscription_renewed", at="2026-07-06T12:00", visitor="A1", revenue=0)
    await workspace_client.knows(*workspace_client.story.events[-3:])
    for rules in (
        AnalyticsSettings(),
        AnalyticsSettings(conversions=frozenset({"webinar"}), any_revenue=False),
    ):
        await workspace_client.follows(rules)
        metrics = ["orders", "attributed_orders", "new_customers", "attributed_new_customers"]
        answer = await workspace_client.post("/metrics", {"metrics": metrics, "date_range": RANGE})
        assert [metric["value"] for metric in answer["metrics"]] == [2, 2, 1, 1]


async def test_amounts_of_views_and_leads_are_no_money_and_custom_names_only_while_they_count(
    workspace_client,
):
    builder = workspace_client.story
    builder.add_event("view_item", at="2026-07-05T12:00", revenue=50000, order_id="O1", visitor="A1")
    builder.add_event("lead", at="2026-07-05T12:01", revenue=3000, visitor="A1")
    await workspace_client.knows(*builder.events[-2:])
    for rules, values in (
        (AnalyticsSettings(), [10.0, 0, 3]),
        (AnalyticsSettings(any_revenue=False), [0.0, 0, 2]),
        (AnalyticsSettings(any_revenue=False, revenue_events=frozenset({"lead"})), [30.0, 1, 2]),
    ):
        await workspace_client.follows(rules)
        body = {"metrics": ["revenue", "orders", "conversions"], "date_range": RANGE}
        answer = await workspace_client.post("/metrics", body)
        assert [metric["value"] for metric in answer["metrics"]] == values
        combined = (await workspace_client.get("/revenue", **WEEK))["combined"]
        assert [combined["revenue"], combined["orders"]] == values[:2]


async def test_default_attribution_is_used_and_named_in_responses(workspace_client):
    usual = {"model": "last_non_direct", "window_days": 30}
    own = {"model": "first_touch", "window_days": 7}
    assert (await workspace_client.get("/context"))["attribution_default"] == usual
    assert await workspace_client.get("/attribution", **WEEK) == await workspace_client.get(
        "/attribution", **WEEK, **usual
    )
    await workspace_client.follows(AnalyticsSettings(model="first_touch", window_days=7))
    assert (await workspace_client.get("/context"))["attribution_default"] == own
    assert await workspace_client.get("/attribution", **WEEK) == await workspace_client.get(
        "/attribution", **WEEK, **own
    )
    answer = await workspace_client.get("/attribution", **WEEK)
    first = answer["campaigns"][0]
    assert (first["utm_campaign"], first["conversions"]) == ("spring", 2)
    plan = {"metrics": ["attributed_conversions"], "dimensions": ["utm_campaign"], "date_range": RANGE}
    queried = await workspace_client.post("/query", plan)
    assert queried["meta"]["resolved"]["attribution"] == own
    assert queried["rows"] == [{"utm_campaign": "spring", "attributed_conversions": 2}]
    person = await workspace_client.get("/users/U1")
    assert {(c["attribution"]["model"], c["attribution"]["window_days"]) for c in person["conversions"]} == {
        ("first_touch", 7)
    }


@pytest.mark.parametrize(
    ("asked", "resolved"),
    [
        ({"model": "linear"}, {"model": "linear", "window_days": 7}),
        ({"window_days": 3}, {"model": "first_touch", "window_days": 3}),
        ({"window_days": 0}, {"model": "first_touch", "window_days": 1}),
        ({}, {"model": "first_touch", "window_days": 7}),
    ],
)
async def test_missing_attribution_parameters_default_to_the_workspace(workspace_client, asked, resolved):
    await workspace_client.follows(AnalyticsSettings(model="first_touch", window_days=7))
    body = {"metrics": ["attributed_conversions"], "date_range": RANGE, "attribution": asked}
    assert (await workspace_client.post("/metrics", body))["attribution"] == resolved
    assert (await workspace_client.get("/attribution", **WEEK, **asked))["attribution"] == resolved


async def test_custom_channels_apply_to_every_read(workspace_client):
    plan = {"metrics": ["sessions"], "dimensions": ["channel"], "date_range": RANGE}
    plan["filters"] = [{"dimension": "channel", "value": "custom:crm"}]
    assert (await workspace_client.post("/query", plan))["rows"] == [{"channel": "custom:crm", "sessions": 1}]
    found = await workspace_client.get("/attribution", **WEEK, group_by="channel", model="last_touch")
    assert [row["channel"] for row in found["channels"]] == ["custom:crm", "paid_search"]


@pytest.mark.parametrize(
    "channel",
    [
        CustomChannel("paid_search", source="x"),
        CustomChannel("custom:", source="x"),
        CustomChannel("custom:Crm", source="x"),
        CustomChannel("custom:crm"),
        CustomChannel("custom:crm", source="x" * 256),
        CustomChannel("custom:crm", source="*a*b*c*"),
    ],
)
def test_invalid_channel_rule_is_refused(channel):
    with pytest.raises(BadRequest):
        validate_analytics_settings(AnalyticsSettings(channels=(channel,)))


@pytest.mark.parametrize(
    "rules",
    [
        AnalyticsSettings(channels=(CustomChannel("custom:crm", source="x"),) * 51),
        AnalyticsSettings(conversions=frozenset(map(str, range(101)))),
        AnalyticsSettings(conversions=frozenset({""})),
        AnalyticsSettings(window_days=0),
        AnalyticsSettings(window_days=366),
    ],
)
def test_analytics_settings_have_bounds(rules):
    with pytest.raises(BadRequest):
        validate_analytics_settings(rules)
