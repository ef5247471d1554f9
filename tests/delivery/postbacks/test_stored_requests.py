"""What metrics, usage and people show of conversions that were sent."""

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.delivery.postbacks.models import Deferred, Rejected
from tests.delivery.postbacks.deployment import run_postback_deployment

METRICS = ["postbacks_sent", "postbacks_failed", "postbacks_skipped", "postback_success_rate"]


@pytest.fixture
async def postback_workspace(tmp_path):
    async with run_postback_deployment(tmp_path) as postback_workspace:
        await postback_workspace.rule()
        yield postback_workspace


async def read_postback_metrics(postback_workspace, **more):
    week = {"from": "2026-07-01", "to": "2026-07-31"}
    answer = await postback_workspace.client.post(
        "/metrics", {"metrics": METRICS, "date_range": week, **more}
    )
    return {one["id"]: one["value"] for one in answer["metrics"]}


async def test_metrics_count_postbacks_finished_in_the_range(postback_workspace):
    await postback_workspace.sells("o1", "o2", "o3")
    await postback_workspace.send()
    postback_workspace.sender.outcomes = [Rejected("bad", 400)]
    await postback_workspace.sells("o4")
    await postback_workspace.send()
    await postback_workspace.sells("o4", consent="denied")
    postback_workspace.sender.outcomes = [Deferred("busy")]
    await postback_workspace.sells("o6")
    await postback_workspace.send()
    assert await read_postback_metrics(postback_workspace) == {
        "postbacks_sent": 3, "postbacks_failed": 1, "postbacks_skipped": 1, "postback_success_rate": 0.75,
    }  # fmt: skip
    assert (
        await read_postback_metrics(postback_workspace, date_range={"from": "2026-06-01", "to": "2026-06-30"})
    )["postbacks_sent"] == 0


async def test_queries_split_postbacks_by_platform_and_day(postback_workspace):
    await postback_workspace.sells("o1", "o2")
    await postback_workspace.send()
    postback_workspace.later(days=1)
    await postback_workspace.sells("o3")
    await postback_workspace.send()
    parameters = {
        "metrics": ["postbacks_sent"], "dimensions": ["platform"], "interval": "day",
        "date_range": {"from": "2026-07-08", "to": "2026-07-09"},
    }  # fmt: skip
    rows = (await postback_workspace.client.post("/query", parameters))["rows"]
    assert sorted((row["bucket"][:10], row["platform"], row["postbacks_sent"]) for row in rows) == [
        ("2026-07-08", "adhub", 2), ("2026-07-09", "adhub", 1),
    ]  # fmt: skip
    filtered = {"filters": [{"dimension": "platform", "op": "eq", "value": "meta"}]}
    assert (await read_postback_metrics(postback_workspace, **filtered))["postbacks_sent"] == 0


async def test_usage_counts_sent_postbacks_of_the_month_without_tests(postback_workspace):
    await postback_workspace.sells("o1", "o2")
    await postback_workspace.send()
    await postback_workspace.sells("o3", consent="denied")
    assert (await postback_workspace.client.get("/usage"))["postbacks_used"] == 2
    assert (await postback_workspace.client.get("/context"))["postbacks_used"] == 2
    postback_workspace.later(days=31)
    assert (await postback_workspace.client.get("/usage"))["postbacks_used"] == 0


async def test_test_mode_postbacks_are_not_counted(postback_workspace):
    await postback_workspace.rule(
        asset_id="p2", trigger_event="lead", test_mode=True, test_event_code="TEST1"
    )
    await postback_workspace.sells("o1", name="lead")
    await postback_workspace.send()
    ((to, _),) = postback_workspace.sender.calls
    assert (to.test, to.test_code) == (True, "TEST1")
    assert (await postback_workspace.client.get("/usage"))["postbacks_used"] == 0
    assert (await read_postback_metrics(postback_workspace))["postbacks_sent"] == 0


async def test_person_profile_lists_sent_postbacks(postback_workspace):
    (rule,) = (await postback_workspace.client.get("/rules"))["rules"]
    await postback_workspace.sells("o1", user="u1")
    await postback_workspace.happens("lead", user="u1")
    postback_workspace.later(minutes=5)
    await postback_workspace.send()
    newest, bought = (await postback_workspace.client.get("/users/u1"))["conversions"]
    assert newest["postbacks"] == []
    assert bought["postbacks"] == [
        {
            "rule_id": rule["id"], "platform": "adhub", "status": "sent",
            "sent_at": postback_workspace.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (ConnectionStatus.CONNECTED, None),
        (ConnectionStatus.ERROR, None),
        (ConnectionStatus.EXPIRED, None),
        (ConnectionStatus.DISCONNECTED, "no_ad_platform"),
    ],
)
async def test_postback_metrics_are_null_without_a_platform(postback_workspace, status, reason):
    await postback_workspace.connect(status=status)
    catalog = await postback_workspace.client.get("/metrics/catalog")
    reasons = {one["id"]: one["availability"]["reason"] for one in catalog["metrics"]}
    assert {reasons[name] for name in METRICS} == {reason}
    assert ((await read_postback_metrics(postback_workspace))["postbacks_sent"] is None) is (
        reason is not None
    )


async def test_postback_metrics_are_zero_with_a_connected_platform(postback_workspace):
    assert await read_postback_metrics(postback_workspace) == dict.fromkeys(METRICS[:3], 0) | {
        "postback_success_rate": None
    }
