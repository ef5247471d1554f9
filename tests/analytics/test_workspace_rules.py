"""Settings of a workspace: conversion events, default attribution, and channels."""

import pytest

from service_core.access.analytics_settings import (
    AnalyticsSettings,
    CustomChannel,
    validate_analytics_settings,
)
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.scope import conversion_set_for
from service_core.kernel.errors import BadRequest
from service_core.testing.event_builder import campaign

WEEK = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
RANGE = {"from": "2026-07-01", "to": "2026-07-07"}


@pytest.fixture
async def workspace_client(served):
    """Ada comes by an ad on the first, returns on the fourth, then joins a webinar, signs up and pays."""
    workspace_client = await served.workspace()
    here = {"visitor": "A1", "strong_id": "U1"}
    workspace_client.story.add_event(
        "page_view", at="2026-07-01T12:00", session="a", **here, **campaign("google", "cpc", "spring")
    )
    workspace_client.story.add_event(
        "page_view", at="2026-07-04T12:00", session="b", **here,
        **campaign("news", "email", "july", channel="custom:crm"),
    )  # fmt: skip
    workspace_client.story.add_event("webinar", at="2026-07-04T12:01", session="b", **here)
    workspace_client.story.add_event("complete_registration", at="2026-07-04T12:02", session="b", **here)
    workspace_client.story.add_event("donation", at="2026-07-04T12:03", session="b", revenue=1000, **here)
    await workspace_client.knows()
    return workspace_client


async def conversions(workspace_client):
    answer = await workspace_client.post("/metrics", {"metrics": ["conversions"], "date_range": RANGE})
    return answer["metrics"][0]["value"]


async def test_a_workspace_without_rules_follows_those_of_the_house(workspace_client):
    assert await conversions(workspace_client) == 2
    assert conversion_set_for(AnalyticsSettings()) == DEFAULT_CONVERSION_SET


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
async def test_its_own_conversion_set_counts_everywhere_and_for_all_history(workspace_client, rules, names):
    await workspace_client.follows(rules)
    assert await conversions(workspace_client) == len(names)
    person = await workspace_client.get("/users/U1")
    assert sorted(conversion["event_name"] for conversion in person["conversions"]) == names
    (row,) = (await workspace_client.get("/users", **WEEK))["users"]
    assert row["conversions"] == len(names)
    totals = (await workspace_client.get("/attribution", **WEEK))["totals"]
    assert totals["conversions"] == len(names)


async def test_purchases_are_counted_by_name_whatever_converts(workspace_client):
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
            asked = {"metrics": ["purchases", "conversions"], "date_range": RANGE, **buckets}
            answer = await workspace_client.post("/query", asked)
            assert list(answer["totals"].values()) == [1, converted]
            assert sum(row["purchases"] for row in answer["rows"]) == 1


async def test_an_order_is_credited_whether_it_converts_or_not(workspace_client):
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
        assert [metric["value"] for metric in answer["metrics"]] == [3, 3, 1, 1]


async def test_its_default_attribution_is_stated_and_used_where_a_request_names_none(workspace_client):
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
async def test_what_a_request_leaves_out_of_its_attribution_is_the_workspaces(
    workspace_client, asked, resolved
):
    await workspace_client.follows(AnalyticsSettings(model="first_touch", window_days=7))
    body = {"metrics": ["attributed_conversions"], "date_range": RANGE, "attribution": asked}
    assert (await workspace_client.post("/metrics", body))["attribution"] == resolved
    assert (await workspace_client.get("/attribution", **WEEK, **asked))["attribution"] == resolved


async def test_an_own_channel_is_a_channel_everywhere(workspace_client):
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
def test_a_channel_nobody_can_follow_is_refused(channel):
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
def test_rules_have_bounds(rules):
    with pytest.raises(BadRequest):
        validate_analytics_settings(rules)
