"""What holds of ad spend in every scenario, through every endpoint, on both stores."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.measures import Relation
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.query.compute import aggregation_of, list_base_measures
from service_core.kernel.wall_clock import local_date
from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples
from tests.analytics.deployment import STORES, run_deployment
from tests.commerce.ads.ad_spend_data import connect_ad_platform, load_advertising_world

SUMS = ("ad_spend", "impressions", "clicks")
CLAIMS = ("platform_conversions", "platform_conversion_value", "platform_roas", "platform_cpa")
PURCHASES = tuple(
    m.id
    for m in CORE_METRICS
    if Relation.SPEND in {aggregation_of(atom).relation for atom in list_base_measures(m.measure)}
)
"""Every metric that needs spend."""


@pytest.fixture(params=list(STORES))
async def served(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield served


def sum_in_range(asking, scenario, told):
    """The rows of days of which some part lies in the range, which ends with the first instant after the scenario."""
    zone = asking.client.workspace.zone
    first, last = (local_date(end, zone) for end in (scenario.span.start, scenario.span.end))
    return [row for row in told if first <= row.day <= last]


@generated_examples
@given(drawn=random_datasets(10), interval=st.sampled_from(["hour", "day", "week", "month"]))
async def test_spend_of_buckets_and_rows_adds_up_to_the_reported_spend(served, drawn, interval):
    scenario, chance = drawn
    asking, result, _ = await load_advertising_world(served, scenario, chance)
    counted = sum_in_range(asking, scenario, result)
    totals = {"ad_spend": sum(row.spend for row in counted) / 100}
    totals |= {name: sum(getattr(row, name) for row in counted) for name in SUMS[1:]}
    for plan in ({"interval": interval}, {"dimensions": ["platform", "campaign_name"]}):
        answer = await asking.query(metrics=list(SUMS), limit=1000, **plan)
        assert answer["totals"] == pytest.approx(totals)
        added = Counter()
        for row in answer["rows"]:
            added.update({name: row[name] for name in SUMS})
        assert {name: added[name] for name in SUMS} == pytest.approx(totals)


@generated_examples
@given(drawn=random_datasets(12))
async def test_spend_metrics_are_equal_alone_in_bulk_on_a_card_and_over_mcp(served, drawn):
    scenario, chance = drawn
    asking, _, platforms = await load_advertising_world(served, scenario, chance, flawed=True)
    parameters = {}
    if chance.random() < 0.5:
        parameters = {"filters": [{"dimension": "platform", "value": chance.choice(platforms)}]}
    of_ads = [m.id for m in CORE_METRICS if "platform" in m.dimensions and m.id in PURCHASES]
    known = of_ads if parameters else list(PURCHASES)
    bulk = await asking.values(*chance.sample(known, 6), **parameters)
    one = chance.choice(list(bulk))
    assert await asking.values(one, **parameters) == {one: bulk[one]}
    assert (await asking.query(metrics=[one], **parameters))["totals"] == {one: bulk[one]}
    called = await asking.tool("get_metrics", metrics=[one], date_range=asking.range, **parameters)
    assert called["metrics"][0]["value"] == bulk[one]
    if not parameters:
        assert await read_card_value(asking, one) == bulk[one]
    tables = [(await asking.query(metrics=[one], interval="week", **parameters))["totals"][one]]
    if one in of_ads and one not in CLAIMS:
        tables.append(
            (await asking.query(metrics=[one], dimensions=["platform"], **parameters))["totals"][one]
        )
    assert set(tables) == {bulk[one]}


async def read_card_value(asking, metric):
    """Its value on a dashboard."""
    report = {"name": metric, "source": "catalog", "metric_id": metric, "chart": "number"}
    saved = await asking.post("/reports", {"report": report})
    layout = {"v": 1, "cards": [{"report_id": saved["data"]["id"]}]}
    board = {"name": "All", "layout": layout, "date_range": asking.range}
    saved = await asking.post("/dashboards", {"dashboard": board})
    ran = await asking.post(f"/dashboards/{saved['data']['id']}/run", {})
    return ran["cards"][0]["result"]["data"]["metric"]["value"]


@generated_examples
@given(drawn=random_datasets(0))
async def test_claimed_conversions_of_two_platforms_are_summed_nowhere(served, drawn):
    scenario, chance = drawn
    asking, result, platforms = await load_advertising_world(served, scenario, chance)
    counted = sum_in_range(asking, scenario, result)
    claimed = Counter()
    for row in counted:
        claimed[row.platform] += row.conversion_value / 100
    several = len(platforms) > 1
    values = await asking.values(*CLAIMS)
    assert (await read_card_value(asking, "platform_conversion_value")) == values["platform_conversion_value"]
    if several:
        assert set(values.values()) == {None}
    else:
        assert values["platform_conversion_value"] == pytest.approx(claimed[platforms[0]])
    rows = (await asking.query(metrics=["platform_conversion_value"], dimensions=["platform"]))["rows"]
    assert {row["platform"]: row["platform_conversion_value"] for row in rows} == pytest.approx(
        {platform: claimed[platform] for platform in {row.platform for row in counted}}
    )
    for platform in platforms:
        of_one = {"dimension": "platform", "value": platform}
        request = (await asking.values("platform_conversion_value", filters=[of_one]))[
            "platform_conversion_value"
        ]
        listed = await asking.over("/ads", platform=platform, limit=200)
        assert listed["totals"]["conversion_value"] == request == pytest.approx(claimed[platform])
    every = await asking.over("/ads")
    assert (every["totals"]["conversions"] is None) is (len({row.platform for row in counted}) > 1)


@generated_examples
@given(drawn=random_datasets(20), how=st.sampled_from(["gone", "broken", "unread"]))
async def test_spend_metrics_are_null_without_ad_platforms(served, drawn, how):
    scenario, chance = drawn
    asking, _, platforms = await load_advertising_world(served, scenario, chance)
    store, workspace_id = served.service.ports.workspace, asking.client.workspace.id
    for platform in platforms:
        if how == "gone":
            await store.connections.remove_connection_if_present(workspace_id, platform)
        elif how == "broken":
            await connect_ad_platform(asking.client, platform, read=served.now, status=ConnectionStatus.ERROR)
        else:
            await connect_ad_platform(asking.client, platform, read=None)
    answer = await asking.post("/metrics", {"metrics": list(PURCHASES), "date_range": asking.range})
    assert {each["value"] for each in answer["metrics"]} == {None}
    assert all(each["unavailable_reason"] for each in answer["metrics"])
    assert answer["complete"] is (how == "gone")
    listed = await asking.over("/ads")
    assert set(listed["totals"].values()) == {None}
    assert {each["reason"] for each in listed["totals_unavailable"]} == {
        "no_ad_platform" if how == "gone" else "source_error"
    }


@generated_examples
@given(
    drawn=random_datasets(40), model=st.sampled_from(["first_touch", "linear", "position_based", "markov"])
)
async def test_credits_by_ad_add_up_to_all_credits(served, drawn, model):
    scenario, chance = drawn
    asking, _, _ = await load_advertising_world(served, scenario, chance)
    names = ["attributed_conversions", "attributed_orders"]
    parameters = {"metrics": names, "attribution": {"model": model}}
    for dimensions in (["campaign_id"], ["platform", "ad_group_id"]):
        answer = await asking.query(**parameters, dimensions=dimensions)
        for name in names:
            if answer["totals"][name] is not None:
                assert sum(row[name] for row in answer["rows"]) == pytest.approx(answer["totals"][name])
