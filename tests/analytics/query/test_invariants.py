"""Invariants of metric queries on random datasets, for both stores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Additivity, Catalog
from service_core.analytics.query.compute import aggregation_of, list_base_measures
from service_core.analytics.query.sources import UNCONNECTED_REASONS
from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import generated_examples, load_dataset_client

CATALOG = Catalog.from_validated_definitions(CORE_METRICS, CORE_DIMENSIONS)
MEASURED = tuple(
    m.id
    for m in CORE_METRICS
    if not any(aggregation_of(a).relation in UNCONNECTED_REASONS for a in list_base_measures(m.measure))
)
ADDITIVE = tuple(id_ for id_ in MEASURED if CATALOG.metrics[id_].additivity is Additivity.ADDITIVE)
GROUPS = ("utm_source", "country", "event_name", "new_vs_returning", "page_path", "channel")
ZONES = ("UTC", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns")


@generated_examples
@given(drawn=random_datasets(40))
async def test_visitors_never_exceed_sessions_nor_sessions_events_and_events_add_up(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    metrics = ["visitors", "sessions", "events", "pageviews", "custom_events"]
    answer = await asking.query(metrics=metrics, interval="day")
    for row in (*answer["rows"], answer["totals"]):
        assert row["visitors"] <= row["sessions"] <= row["events"]
        assert row["pageviews"] + row["custom_events"] == row["events"]


@generated_examples
@given(drawn=random_datasets(40), interval=st.sampled_from(["hour", "day", "week", "month"]))
async def test_additive_metrics_of_buckets_add_up_to_their_total(served, drawn, interval):
    asking = await load_dataset_client(served, drawn[0])
    metrics = drawn[1].sample(ADDITIVE, 8)
    answer = await asking.query(metrics=metrics, interval=interval, limit=1000)
    for metric in metrics:
        total, values = answer["totals"][metric], [row[metric] for row in answer["rows"]]
        if total is None:
            assert None in values
        else:
            assert sum(values) == pytest.approx(total)


@generated_examples
@given(drawn=random_datasets(40))
async def test_metric_value_is_equal_alone_in_pairs_in_bulk_and_over_mcp(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    first, second = drawn[1].sample(MEASURED, 2)
    bulk = await asking.values(*drawn[1].sample(MEASURED, 48))
    pair, alone = await asking.values(first, second), await asking.values(first)
    called = await asking.tool("get_metrics", metrics=[second, first], date_range=asking.range)
    through_mcp = {value["id"]: value["value"] for value in called["metrics"]}
    assert through_mcp == pair
    queried, bucketed = (
        await asking.query(metrics=[first]),
        await asking.query(metrics=[first], interval="day"),
    )
    result = (pair[first], queried["totals"][first], bucketed["totals"][first], bulk.get(first, alone[first]))
    assert set(result) == {alone[first]}
    assert pair[second] == bulk.get(second, pair[second])


@generated_examples
@given(drawn=random_datasets(40))
async def test_metric_value_is_equal_on_a_dashboard_card(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    metrics, cards = drawn[1].sample(MEASURED, 3), []
    for metric in metrics:
        report = {"name": metric, "source": "catalog", "metric_id": metric, "chart": "number"}
        saved = await asking.post("/reports", {"report": report})
        cards.append({"report_id": saved["data"]["id"]})
    board = {"name": "All", "layout": {"v": 1, "cards": cards}, "date_range": asking.range}
    saved = await asking.post("/dashboards", {"dashboard": board})
    ran = await asking.post(f"/dashboards/{saved['data']['id']}/run", {})
    shown = {
        card["result"]["data"]["metric"]["id"]: card["result"]["data"]["metric"]["value"]
        for card in ran["cards"]
    }
    assert shown == await asking.values(*metrics)
    run = await asking.tool("run_dashboard", dashboardId=saved["data"]["id"])
    assert [card["result"] for card in run["cards"]] == [card["result"] for card in ran["cards"]]


@generated_examples
@given(
    drawn=random_datasets(40),
    metric=st.sampled_from(["visitors", "sessions", "events", "conversions"]),
    dimension=st.sampled_from(GROUPS),
)
async def test_filter_on_a_row_returns_the_value_of_the_row(served, drawn, metric, dimension):
    asking = await load_dataset_client(served, drawn[0])
    rows = (await asking.query(metrics=[metric], dimensions=[dimension]))["rows"]
    for row in drawn[1].sample(rows, min(1, len(rows))):
        narrowed = await asking.query(
            metrics=[metric], filters=[{"dimension": dimension, "value": row[dimension]}]
        )
        assert narrowed["totals"][metric] == row[metric]


@generated_examples
@given(
    drawn=random_datasets(40),
    limit=st.integers(1, 4),
    metric=st.sampled_from(["events", "bounce_rate", "attributed_conversions", "visitors"]),
)
async def test_pages_of_a_query_equal_one_large_page(served, drawn, limit, metric):
    asking = await load_dataset_client(served, drawn[0])
    plan = {"metrics": [metric], "dimensions": ["utm_source", "channel"]}
    whole, pages, more = (await asking.query(**plan))["rows"], [], {}
    while more is not None:
        page = await asking.query(**plan, limit=limit, **more)
        pages += page["rows"]
        cursor = page["meta"]["next_cursor"]
        more = {"cursor": cursor} if cursor else None
    assert pages == whole


@generated_examples
@given(drawn=random_datasets(40), limit=st.integers(1, 3), count=st.integers(2, 3))
async def test_largest_groups_of_several_dimensions_and_the_rest_add_up_to_the_total(
    served, drawn, limit, count
):
    asking = await load_dataset_client(served, drawn[0])
    dimensions = drawn[1].sample(("utm_source", "channel", "event_name", "new_vs_returning"), count)
    plan = {"metrics": ["events", "visitors", "attributed_conversions"], "dimensions": dimensions}
    every = await asking.query(**plan, limit=1000)
    answer = await asking.query(**plan, top={"limit": limit, "other": True})
    other = ["(other)"] * count
    kept = [row for row in answer["rows"] if [row[id_] for id_ in dimensions] != other]
    assert all(row in every["rows"] for row in kept)
    left_out = [row for row in every["rows"] if row not in kept]
    assert len(kept) == min(limit, len(every["rows"]))
    assert len(answer["rows"]) - len(kept) == (1 if left_out else 0)
    for rest in (row for row in answer["rows"] if row not in kept):
        assert rest["events"] == sum(row["events"] for row in left_out)
        credited = sum(row["attributed_conversions"] for row in left_out)
        assert rest["attributed_conversions"] == pytest.approx(credited)
        visitors = [row["visitors"] for row in left_out]
        assert max(visitors) <= rest["visitors"] <= sum(visitors)
    assert answer["totals"] == every["totals"]


@generated_examples
@given(drawn=random_datasets(40), size=st.integers(3, 9))
async def test_pages_of_events_and_persons_equal_one_large_page(served, drawn, size):
    asking = await load_dataset_client(served, drawn[0])
    for path, rows in (("/events", "events"), ("/users", "users")):
        whole = await asking.over(path, limit=1000)
        assert await asking.walk(path, rows, size) == whole[rows]
        assert whole["total_count"] == len(whole[rows])
    sort = drawn[1].choice(["first_seen", "revenue", "events"])
    whole = await asking.over("/users", limit=1000, sort=sort)
    assert await asking.walk("/users", "users", 1, sort=sort) == whole["users"]


@generated_examples
@given(drawn=random_datasets(40))
async def test_overview_traffic_and_query_return_the_same_numbers(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    overview, traffic = await asking.over("/overview"), await asking.over("/traffic")
    names = ("visitors", "pageviews", "sessions", "custom_events")
    values = await asking.values(*names)
    assert {name: overview[f"{name}_total"] for name in names} == values
    assert values["custom_events"] == sum(overview["custom_event_counts"].values())
    series = await asking.query(metrics=list(names), interval=overview["aggregation_level"])
    assert [(b["timestamp"], *(b[name] for name in names)) for b in overview["time_series"]] == [
        (row["bucket"], *(row[name] for name in names)) for row in series["rows"]
    ]
    by_referrer = await asking.query(metrics=["visitors"], dimensions=["referrer_host"])
    assert [(row["name"], row["count"]) for row in traffic["data"]] == [
        (row["referrer_host"], row["visitors"]) for row in by_referrer["rows"]
    ]
    assert traffic["total"] == sum(row["count"] for row in traffic["data"])
    shares = sum(row["percentage"] for row in traffic["data"])
    assert traffic["total"] == 0 or shares == pytest.approx(100, abs=0.1)


@generated_examples
@given(
    drawn=random_datasets(40),
    rows=st.sampled_from(
        [
            ("/traffic", {"type": "referrer"}), ("/traffic", {"type": "campaign"}), ("/traffic", {"type": "page"}),
            ("/devices", {"type": "device"}), ("/locations", {"type": "country"}), ("/tags", {}),
        ]
    ),
    limit=st.integers(1, 3),
)  # fmt: skip
async def test_smaller_limit_changes_no_row_that_remains(served, drawn, rows, limit):
    asking = await load_dataset_client(served, drawn[0])
    path, request = rows
    whole = await asking.over(path, **request, limit=100)
    part = await asking.over(path, **request, limit=limit)
    assert part["data"] == whole["data"][:limit]
    assert part["total"] == whole["total"]


@generated_examples
@given(drawn=random_datasets(40), zone=st.sampled_from(ZONES))
async def test_totals_of_additive_metrics_do_not_depend_on_the_time_zone(served, drawn, zone):
    here = await load_dataset_client(served, drawn[0])
    metrics = drawn[1].sample(ADDITIVE, 8)
    before = await here.values(*metrics)
    await here.client.changes(timezone=zone)
    assert await here.values(*metrics) == before


@generated_examples
@given(drawn=random_datasets(30))
async def test_sending_the_same_events_twice_changes_nothing(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    before = await asking.values(*MEASURED[:50])
    await asking.client.knows(*drawn[0].builder.events)
    assert await asking.values(*MEASURED[:50]) == before


@generated_examples
@given(drawn=random_datasets(20))
async def test_unmeasured_metrics_are_null_and_never_zero(served, drawn):
    asking = await load_dataset_client(served, drawn[0])
    unmeasured = [metric.id for metric in CORE_METRICS if metric.id not in MEASURED]
    answer = await asking.post("/metrics", {"metrics": unmeasured, "date_range": asking.range})
    assert {value["value"] for value in answer["metrics"]} == {None}
    assert [each["metric"] for each in answer["unavailable"]] == unmeasured
    assert all(value["unavailable_reason"] for value in answer["metrics"])


@generated_examples
@given(drawn=random_datasets(40), dimension=st.sampled_from(GROUPS))
async def test_filter_on_an_unknown_value_returns_no_rows(served, drawn, dimension):
    asking = await load_dataset_client(served, drawn[0])
    filters = [{"dimension": dimension, "value": "Mispelt"}]
    answer = await asking.query(metrics=["visitors"], dimensions=["browser"], filters=filters)
    assert (answer["rows"], answer["totals"]) == ([], {"visitors": 0})
    assert (await asking.over("/events", event_name="Mispelt"))["events"] == []
    assert (await asking.over("/users", country="Mispelt"))["users"] == []
    assert (await asking.over("/retention", channel="Mispelt"))["rows"] == []
    assert (await asking.over("/funnel", steps="Mispelt,page_view"))["steps"][0]["count"] == 0
    assert (await asking.over("/attribution", event_name="Mispelt"))["totals"]["conversions"] == 0
