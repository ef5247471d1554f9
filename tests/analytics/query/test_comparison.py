"""The comparison of `POST /query`: what vanished, what is below the page, the rest, and local dates."""

import pytest

BACK = {
    "compare": {"from": "2026-07-01", "to": "2026-07-01"},
    "date_range": {"from": "2026-07-02", "to": "2026-07-07"},
}
"""The first day, on which google brought the only visit, against the rest of the week, in which it brought none."""


def by_source(rows):
    return {row["utm_source"]: row for row in rows}


async def test_group_that_vanished_is_in_the_comparison(query_client):
    answer = await query_client.query(
        {"metrics": ["pageviews", "visitors"], "dimensions": ["utm_source"]} | BACK
    )
    assert "google" not in by_source(answer["rows"])
    assert by_source(answer["comparison"]["rows"])["google"] == {
        "utm_source": "google", "pageviews": 1, "visitors": 1, "current": None,
    }  # fmt: skip
    assert answer["comparison"]["other"] == {"pageviews": 0, "visitors": 0}


async def test_group_below_the_page_stands_beside_its_current_values(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source"], "limit": 1, "compare": BACK["compare"]}
    first = await query_client.query(plan)
    assert [row["utm_source"] for row in first["rows"]] == ["(not set)"]
    assert first["comparison"]["rows"] == [
        {"utm_source": "(not set)", "pageviews": 0},
        {"utm_source": "google", "pageviews": 1, "current": {"pageviews": 1}},
    ]
    second = await query_client.query(plan | {"cursor": first["meta"]["next_cursor"]})
    assert not any("current" in row for row in second["comparison"]["rows"])


@pytest.mark.parametrize("interval", [None, "day"])
@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("dimensions", [["utm_source"], ["event_name", "utm_source"]])
async def test_rows_and_rest_of_the_comparison_add_up(query_client, interval, limit, dimensions):
    plan = {"metrics": ["events", "pageviews"], "dimensions": dimensions, "limit": limit, "interval": interval,
            "date_range": {"from": "2026-07-05", "to": "2026-07-07"}, "compare": {"from": "2026-07-01", "to": "2026-07-04"}}  # fmt: skip
    compared = (await query_client.query(plan))["comparison"]
    for metric in plan["metrics"]:
        assert (
            sum(row[metric] for row in compared["rows"]) + compared["other"][metric]
            == compared["totals"][metric]
        )
    assert compared["totals"]["events"] == 6


async def test_rest_of_a_distinct_count_counts_a_visitor_once(query_client):
    plan = {"metrics": ["visitors"], "dimensions": ["event_name"], "limit": 1,
            "date_range": {"from": "2026-07-06", "to": "2026-07-07"}, "compare": {"from": "2026-07-01", "to": "2026-07-05"}}  # fmt: skip
    compared = (await query_client.query(plan))["comparison"]
    assert [(row["event_name"], row["visitors"]) for row in compared["rows"]] == [
        ("refund", 0),
        ("page_view", 3),
    ]
    # V1 added to the cart and bought, V2 signed up: 3 events of 2 visitors.
    assert compared["other"] == {"visitors": 2}


async def test_vanished_group_has_its_rows_by_bucket(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source"], "interval": "day", "limit": 50,
            "date_range": {"from": "2026-07-05", "to": "2026-07-06"}, "compare": {"from": "2026-07-01", "to": "2026-07-02"}}  # fmt: skip
    rows = (await query_client.query(plan))["comparison"]["rows"]
    vanished = [row for row in rows if row["utm_source"] != "(not set)"]
    assert [(row["date"], row["utm_source"], row["current"]) for row in vanished] == [
        ("2026-07-01", "google", None), ("2026-07-02", "facebook", None),
    ]  # fmt: skip
    assert [row["aligned_bucket"].day for row in vanished] == [5, 6]


async def test_compact_comparison_is_arrays_in_the_order_of_its_columns(query_client):
    plan = {"metrics": ["pageviews"], "dimensions": ["utm_source"], "format": "compact"} | BACK
    compared = (await query_client.query(plan))["comparison"]
    assert compared["columns"] == ["utm_source", "pageviews", "current"]
    assert compared["rows"] == [["(not set)", 0], ["facebook", 0], ["google", 1, None]]


async def test_buckets_have_local_dates_and_say_whether_they_are_partial(query_client):
    days = await query_client.query(
        {
            "metrics": ["events"],
            "interval": "day",
            "date_range": {"from": "2026-07-07T12:00", "to": "2026-07-08"},
        }
    )
    assert [(row["date"], row["partial"]) for row in days["rows"]] == [
        ("2026-07-07", True),
        ("2026-07-08", True),
    ]
    hours = await query_client.query(
        {"metrics": ["events"], "interval": "hour", "date_range": {"from": "2026-07-07", "to": "2026-07-07"}}
    )
    assert [(row["date"], row["partial"]) for row in hours["rows"]][-1] == ("2026-07-07T23:00", False)


@pytest.mark.parametrize("metrics", [["pageviews"], ["visitors", "pageviews", "bounce_rate"]])
async def test_rest_that_is_a_row_is_not_counted_again_outside_of_the_rows(query_client, metrics):
    plan = {"metrics": metrics, "dimensions": ["event_name"] if len(metrics) == 1 else ["utm_source"]}
    top = {"top": {"limit": 1, "other": True}, "compare": {"from": "2026-07-01", "to": "2026-07-03"}}
    compared = (await query_client.query(plan | top))["comparison"]
    assert len(compared["rows"]) == 2
    assert {metric: compared["other"][metric] or 0 for metric in metrics} == dict.fromkeys(metrics, 0)
