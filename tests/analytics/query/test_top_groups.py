"""`top` of `POST /query`: the largest groups with complete series, and the rest as one group."""

import pytest

from service_core.kernel.errors import BadRequest

OTHER_GROUP_LABEL = "(other)"
SOURCES = ["(not set)", "facebook", "google"]


def values_by_label(answer, metric="visitors"):
    return {row["utm_source"]: row[metric] for row in answer["rows"]}


async def test_top_keeps_the_largest_groups_and_the_rest_is_counted_as_one(query_client):
    plan = {"metrics": ["visitors", "pageviews"], "dimensions": ["utm_source"]}
    every = await query_client.query(plan)
    answer = await query_client.query(plan | {"top": {"limit": 1, "other": True}})
    assert [row["utm_source"] for row in answer["rows"]] == ["(not set)", OTHER_GROUP_LABEL]
    assert answer["rows"][0] == every["rows"][0]
    # One visitor came from facebook, and later from google.
    assert values_by_label(answer)[OTHER_GROUP_LABEL] == await distinct_visitors_of(
        query_client, ["facebook", "google"]
    )
    assert sum(values_by_label(answer, "pageviews").values()) == every["totals"]["pageviews"]
    assert answer["totals"] == every["totals"]
    meta = answer["meta"]
    assert (meta["truncated"], meta["next_cursor"], meta["row_count"]) == (False, None, 2)
    assert meta["resolved"]["top"] == {"limit": 1, "other": True}


async def test_there_is_no_rest_when_every_group_is_kept(query_client):
    plan = {"metrics": ["visitors"], "dimensions": ["utm_source"], "interval": "day"}
    for limit in (3, 4):
        answer = await query_client.query(plan | {"top": {"limit": limit, "other": True}})
        assert {row["utm_source"] for row in answer["rows"]} == set(SOURCES)


async def distinct_visitors_of(query_client, sources):
    condition = {"dimension": "utm_source", "op": "in", "value": sources}
    return (await query_client.query({"metrics": ["visitors"], "filters": [condition]}))["totals"]["visitors"]


async def test_each_group_has_every_bucket_however_many_rows_that_makes(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source"], "interval": "hour", "limit": 1}
    top = await query_client.query(plan | {"top": {"limit": 2, "other": True}})
    assert len(top["rows"]) == 3 * 24 * 7
    assert not top["meta"]["truncated"]
    for label in {row["utm_source"] for row in top["rows"]}:
        assert len({row["bucket"] for row in top["rows"] if row["utm_source"] == label}) == 24 * 7
    total = sum(row["pageviews"] for row in top["rows"])
    assert total == top["totals"]["pageviews"]
    every = await query_client.query(plan | {"limit": 1000})
    kept = {row["utm_source"] for row in top["rows"]} - {OTHER_GROUP_LABEL}
    listed = {(row["bucket"], row["utm_source"]): row["pageviews"] for row in every["rows"]}
    assert {
        (row["bucket"], row["utm_source"]): row["pageviews"]
        for row in top["rows"]
        if row["utm_source"] in kept and row["pageviews"]
    } == {key: value for key, value in listed.items() if key[1] in kept and value}


async def test_comparison_has_the_same_groups(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source"], "top": {"limit": 1, "other": True}}
    answer = await query_client.query(plan | {"compare": {"from": "2026-07-01", "to": "2026-07-03"}})
    compared = answer["comparison"]
    assert [row["utm_source"] for row in compared["rows"]] == [row["utm_source"] for row in answer["rows"]]
    assert sum(row["pageviews"] for row in compared["rows"]) == compared["totals"]["pageviews"]


async def test_several_dimensions_keep_combinations(query_client):
    plan = {"metrics": ["visitors"], "dimensions": ["utm_source", "country"]}
    every = await query_client.query(plan)
    answer = await query_client.query(plan | {"top": {"limit": 2}})
    assert answer["rows"] == every["rows"][:2]


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"top": {"limit": 3}}, "top"),
    ],
)
async def test_top_without_groups_or_rest_is_refused(query_client, plan, field):
    with pytest.raises(BadRequest) as refused:
        await query_client.query({"metrics": ["visitors"]} | plan)
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", field)


async def test_limit_of_top_is_clamped(query_client):
    answer = await query_client.query(
        {"metrics": ["visitors"], "dimensions": ["utm_source"], "top": {"limit": 500}}
    )
    assert answer["meta"]["resolved"]["top"]["limit"] == 50
    assert sorted(values_by_label(answer)) == SOURCES


async def test_rest_of_several_dimensions_is_one_group_that_counts_everybody_once(query_client):
    plan = {"metrics": ["visitors", "pageviews"], "dimensions": ["hostname", "exit_page"]}
    every = await query_client.query(plan)
    answer = await query_client.query(plan | {"top": {"limit": 1, "other": True}})
    rest, kept = answer["rows"]  # ties are ordered by label
    assert (
        kept
        == every["rows"][0]
        == {"hostname": "shop.example", "exit_page": "/", "visitors": 2, "pageviews": 2}
    )
    # V3 is in two groups of the rest, V1 in one of them and in the group that is kept.
    assert rest == {"hostname": "(other)", "exit_page": "(other)", "visitors": 2, "pageviews": 2}
    assert sum(row["visitors"] for row in every["rows"][1:]) == 3


async def test_rest_of_several_dimensions_has_every_bucket_and_is_compared(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source", "event_name"], "interval": "day"}
    top = plan | {"top": {"limit": 1, "other": True}, "compare": {"from": "2026-06-24", "to": "2026-06-30"}}
    answer = await query_client.query(top)
    rest = [row["pageviews"] for row in answer["rows"] if row["event_name"] == OTHER_GROUP_LABEL]
    assert len(rest) == 7
    assert sum(row["pageviews"] for row in answer["rows"]) == answer["totals"]["pageviews"]
    assert {row["event_name"] for row in answer["comparison"]["rows"]} == {"page_view", OTHER_GROUP_LABEL}


async def test_credits_of_the_rest_add_up_to_the_total(query_client):
    plan = {
        "metrics": ["attributed_conversions", "attributed_revenue"],
        "dimensions": ["channel", "event_name", "new_vs_returning"],
    }
    every = await query_client.query(plan)
    answer = await query_client.query(plan | {"top": {"limit": 1, "other": True}})
    assert len(every["rows"]) > 1
    rest, kept = answer["rows"]  # ties are ordered by label
    assert kept == every["rows"][0]
    for metric in plan["metrics"]:
        assert rest[metric] == pytest.approx(sum(row[metric] for row in every["rows"][1:]))
