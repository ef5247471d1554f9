"""`POST /query`: rows, totals, comparison, pages and metadata."""

from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.kernel.errors import BadRequest
from service_core.kernel.timestamps import format_timestamp


async def query_error(query_client, plan):
    with pytest.raises(BadRequest) as refused:
        await query_client.query(plan)
    return refused.value


async def test_response_matches_the_documented_example(query_client):
    answer = await query_client.query(
        {"metrics": ["visitors", "attributed_revenue"], "dimensions": ["utm_source"], "limit": 1}
    )
    assert list(answer) == ["columns", "rows", "totals", "comparison", "meta"]
    assert answer["columns"] == [
        {"id": "utm_source", "kind": "dimension"},
        {"id": "visitors", "kind": "metric", "unit": "count"},
        {"id": "attributed_revenue", "kind": "metric", "unit": "currency"},
    ]
    meta = answer["meta"]
    assert list(meta) == [
        "resolved", "unavailable", "truncated", "next_cursor", "row_count", "complete", "data_through",
        "did_you_mean", "query_ms",
    ]  # fmt: skip
    assert list(meta["resolved"]) == [
        "date_range", "timezone", "interval", "attribution", "refund_basis", "currency", "order_by", "limit",
    ]  # fmt: skip
    assert meta["resolved"]["attribution"] == {"model": "last_non_direct", "window_days": 30}
    assert meta["resolved"]["order_by"] == [
        {"field": "visitors", "direction": "desc"},
        {"field": "utm_source", "direction": "asc"},
    ]
    assert (meta["truncated"], meta["row_count"], meta["complete"]) == (True, 1, True)
    assert answer["totals"] == {"visitors": 3, "attributed_revenue": 120.5}


@pytest.mark.parametrize(
    ("dimension", "rows"),
    [
        ("exit_page", [("/", 3, 0.5), ("(not set)", 1, None)]),
        ("hostname", [("(not set)", 2, 1.0), ("shop.example", 2, 0.0), ("blog.example", 1, 1.0)]),
        ("screen_class", [("(not set)", 2, 1.0), ("large", 1, 1.0), ("small", 1, 0.0), ("wide", 1, 0.0)]),
    ],
)
async def test_visits_by_last_page_host_and_screen_have_golden_values(query_client, dimension, rows):
    answer = await query_client.query(
        {"metrics": ["visitors", "bounce_rate"], "dimensions": [dimension], "format": "compact"}
    )
    assert [tuple(row) for row in answer["rows"]] == rows
    label, visitors, _ = rows[1]
    filtered = {"metrics": ["visitors"], "filters": [{"dimension": dimension, "value": label}]}
    assert (await query_client.query(filtered))["totals"] == {"visitors": visitors}


@pytest.mark.parametrize(
    "dimension",
    ["channel", "utm_campaign", "landing_page", "country", "first_touch_source", "property:plan", "product"],
)
async def test_money_by_session_first_touch_and_property_adds_up(query_client, dimension):
    plan = {"metrics": ["revenue", "orders"], "dimensions": [dimension], "format": "compact"}
    answer = await query_client.query(plan)
    sums = {"revenue": 0, "orders": 0}
    for label, revenue, orders in answer["rows"]:
        sums = {"revenue": sums["revenue"] + revenue, "orders": sums["orders"] + orders}
        filtered = {**plan, "dimensions": [], "filters": [{"dimension": dimension, "value": label}]}
        assert (await query_client.query(filtered))["totals"] == {"revenue": revenue, "orders": orders}
    assert sums == answer["totals"]
    top = await query_client.query({**plan, "top": {"limit": 1, "other": True}})
    assert sum(row[1] for row in top["rows"]) == answer["totals"]["revenue"]


async def test_metrics_counted_from_sessions_do_not_accept_a_property(query_client):
    plan = {"metrics": ["bounce_rate"], "dimensions": ["property:plan"]}
    assert (await query_error(query_client, plan)).code == "incompatible_dimension"
    for unknown in ("property:", "property:a..b", "property:utm_source", "property:order_id"):
        plan = {"metrics": ["events"], "dimensions": [unknown]}
        assert (await query_error(query_client, plan)).code == "unknown_dimension"


@pytest.mark.parametrize(
    ("dimension", "rows"),
    [
        ("is_bot", [("false", 3, 5), ("true", 1, 1)]),
        ("bot_reason", [("(not set)", 3, 5), ("known_agent", 1, 1)]),
        ("crawler", [("(not set)", 3, 5), ("GPTBot", 1, 1)]),
        ("crawler_class", [("(not set)", 3, 5), ("ai_training", 1, 1)]),
    ],
)
async def test_visits_by_bot_have_golden_values_where_bots_are_included(query_client, dimension, rows):
    plan = {"metrics": ["visitors", "session_starts"], "dimensions": [dimension], "format": "compact"}
    answer = await query_client.query({**plan, "include_bots": True})
    assert [tuple(row) for row in answer["rows"]] == rows
    people = await query_client.query(plan)
    assert [tuple(row) for row in people["rows"]] == rows[:1]
    label = rows[1][0]
    only = {
        "metrics": ["visitors"],
        "include_bots": True,
        "filters": [{"dimension": dimension, "value": label}],
    }
    assert (await query_client.query(only))["totals"] == {"visitors": 1}


async def test_metrics_by_dimension_have_golden_values(query_client):
    answer = await query_client.query(
        {"metrics": ["visitors", "sessions", "attributed_revenue"], "dimensions": ["utm_source"]}
    )
    assert answer["rows"] == [
        {"utm_source": "(not set)", "visitors": 2, "sessions": 3, "attributed_revenue": 0.0},
        {"utm_source": "facebook", "visitors": 1, "sessions": 1, "attributed_revenue": 0.0},
        {"utm_source": "google", "visitors": 1, "sessions": 1, "attributed_revenue": 120.5},
    ]


async def test_compact_rows_are_arrays_in_the_order_of_the_columns(query_client):
    plan = {
        "metrics": ["visitors"],
        "dimensions": ["utm_source"],
        "interval": "day",
        "format": "compact",
        "limit": 1,
    }
    answer = await query_client.query(plan)
    assert [column["id"] for column in answer["columns"]] == [
        "bucket", "date", "partial", "utm_source", "visitors",
    ]  # fmt: skip
    assert [(format_timestamp(row[0]), *row[1:]) for row in answer["rows"]] == [
        ("2026-07-01T04:00:00.000Z", "2026-07-01", False, "google", 1)
    ]


async def test_pages_together_equal_one_large_page(query_client):
    plan = {"metrics": ["events"], "dimensions": ["event_name", "utm_source"]}
    whole = (await query_client.query(plan))["rows"]
    pages, cursor = [], None
    while True:
        page = await query_client.query(plan | {"limit": 2} | ({"cursor": cursor} if cursor else {}))
        pages += page["rows"]
        cursor = page["meta"]["next_cursor"]
        assert page["meta"]["truncated"] is (cursor is not None)
        if cursor is None:
            break
    assert pages == whole
    assert len(whole) > 4


async def test_cursor_of_another_plan_is_refused(query_client):
    plan = {"metrics": ["events"], "dimensions": ["event_name"], "limit": 1}
    cursor = (await query_client.query(plan))["meta"]["next_cursor"]
    assert (
        await query_error(query_client, plan | {"metrics": ["visitors"], "cursor": cursor})
    ).code == "invalid_cursor"
    assert (await query_error(query_client, plan | {"cursor": "eyJvIjoxfQ"})).code == "invalid_cursor"


async def test_paging_over_midnight_keeps_the_first_range(query_client):
    plan = {
        "metrics": ["events"],
        "dimensions": ["event_name"],
        "limit": 1,
        "date_range": {"preset": "last_7_days"},
    }
    first = await query_client.query(plan)
    tomorrow = replace(query_client.caller, now=query_client.caller.now + timedelta(days=1))
    second = await query_client.query(plan | {"cursor": first["meta"]["next_cursor"]}, caller=tomorrow)
    assert second["meta"]["resolved"]["date_range"] == first["meta"]["resolved"]["date_range"]


async def test_counts_are_zero_and_ratios_null_in_empty_buckets(query_client):
    answer = await query_client.query({"metrics": ["visitors", "revenue", "bounce_rate"], "interval": "day"})
    assert [(row["visitors"], row["revenue"], row["bounce_rate"]) for row in answer["rows"]] == [
        (1, 120.5, 0.0), (2, 0.0, 0.5), (0, 0.0, None), (0, 0.0, None), (1, 0.0, 1.0), (1, 0.0, None), (0, 0.0, None),
    ]  # fmt: skip
    assert answer["meta"]["resolved"]["interval"] == "day"
    assert answer["meta"]["resolved"]["order_by"] == [
        {"field": "bucket", "direction": "asc"},
        {"field": "visitors", "direction": "desc"},
    ]


async def test_series_over_centuries_is_zero_outside_of_stored_events(query_client):
    plan = {"metrics": ["pageviews"], "interval": "month", "compare": "previous_period", "limit": 3,
            "date_range": {"from": "1900-01-01", "to": "2199-12-31"},
            "order_by": [{"field": "bucket", "direction": "desc"}]}  # fmt: skip
    answer = await query_client.query(plan)
    assert [row["pageviews"] for row in answer["rows"]] == [4, 0, 0]
    assert (answer["totals"]["pageviews"], answer["comparison"]["totals"]["pageviews"]) == (4, 0)
    by_source = await query_client.query(plan | {"dimensions": ["utm_source"]})
    assert {format_timestamp(row["bucket"]) for row in by_source["rows"]} == {"2026-07-01T04:00:00.000Z"}
    assert len(by_source["comparison"]["rows"]) == 3


async def test_comparison_has_the_rows_of_the_page_and_its_own_buckets(query_client):
    plan = {"metrics": ["visitors"], "dimensions": ["utm_source"], "compare": "previous_period",
            "date_range": {"from": "2026-07-02", "to": "2026-07-02"}}  # fmt: skip
    answer = await query_client.query(plan)
    assert answer["rows"] == [
        {"utm_source": "(not set)", "visitors": 1},
        {"utm_source": "facebook", "visitors": 1},
    ]
    assert answer["comparison"]["rows"] == [
        {"utm_source": "(not set)", "visitors": 0},
        {"utm_source": "facebook", "visitors": 0},
        {"utm_source": "google", "visitors": 1, "current": None},
    ]
    assert answer["comparison"]["totals"] == {"visitors": 1}
    by_day = (await query_client.query(plan | {"dimensions": [], "interval": "hour"}))["comparison"]["rows"]
    assert len(by_day) == 24
    assert by_day[11] | {"bucket": format_timestamp(by_day[11]["bucket"]), "aligned_bucket": format_timestamp(by_day[11]["aligned_bucket"])} == {
        "bucket": "2026-07-01T15:00:00.000Z", "date": "2026-07-01T11:00",
        "aligned_bucket": "2026-07-02T15:00:00.000Z", "visitors": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "visitors"),
    [
        ([{"dimension": "utm_source", "value": "google"}], 1),
        ([{"dimension": "utm_source", "op": "neq", "value": "google"}], 3),
        ([{"dimension": "utm_source", "value": "(not set)"}], 2),
        ([{"dimension": "utm_source", "op": "neq", "value": "(not set)"}], 2),
        ([{"dimension": "utm_source", "op": "in", "value": ["google", "(not set)"]}], 2),
        ([{"dimension": "utm_source", "op": "not_in", "value": ["google", "(not set)"]}], 1),
        ([{"dimension": "utm_source", "op": "contains", "value": "OO"}], 2),
        ([{"dimension": "utm_source", "op": "is_set"}], 2),
        ([{"dimension": "utm_source", "op": "is_not_set"}], 2),
        ([{"dimension": "utm_source", "value": "googel"}], 0),
        ([{"dimension": "new_vs_returning", "value": "new"}], 3),
        ([{"dimension": "new_vs_returning", "value": "returning"}], 0),
        ([{"dimension": "new_vs_returning", "op": "neq", "value": "nobody"}], 3),
        ([{"dimension": "new_vs_returning", "value": "nobody"}], 0),
        ([{"dimension": "new_vs_returning", "op": "contains", "value": "NE"}], 3),
        ([{"dimension": "new_vs_returning", "op": "not_contains", "value": "ne"}], 0),
        ([{"dimension": "new_vs_returning", "op": "starts_with", "value": "ret"}], 0),
        ([{"dimension": "new_vs_returning", "op": "between", "value": ["a", "o"]}], 3),
        ([{"dimension": "new_vs_returning", "op": "gt", "value": "o"}], 0),
        ([{"dimension": "new_vs_returning", "op": "is_set"}], 3),
        (
            [
                {"dimension": "utm_source", "value": "google"},
                {"dimension": "event_name", "value": "purchase"},
            ],
            1,
        ),
        ([{"dimension": "page_path", "op": "between", "value": ["/a", "/k"]}], 1),
    ],
)
async def test_filters_select_the_expected_rows(query_client, filters, visitors):
    assert (await query_client.query({"metrics": ["visitors"], "filters": filters}))["totals"] == {
        "visitors": visitors
    }


async def test_empty_interval_counts_as_absent(query_client):
    answer = await query_client.query({"metrics": ["visitors"], "interval": ""})
    assert (answer["meta"]["resolved"]["interval"], len(answer["rows"])) == (None, 1)


async def test_filter_on_an_unknown_value_returns_no_rows_and_a_suggestion(query_client):
    plan = {"metrics": ["visitors"], "dimensions": ["utm_source"],
            "filters": [{"dimension": "utm_source", "value": "googel"}]}  # fmt: skip
    answer = await query_client.query(plan)
    assert answer["rows"] == []
    assert answer["meta"]["did_you_mean"] == [
        {"dimension": "utm_source", "value": "googel", "suggestion": "google"}
    ]
    for alone in ({"dimensions": []}, {"dimensions": [], "interval": "day"}):
        assert (await query_client.query(plan | alone))["meta"]["did_you_mean"] == answer["meta"][
            "did_you_mean"
        ]
    among = {"dimension": "utm_source", "op": "in", "value": ["googel", "yahoo"]}
    several = await query_client.query(plan | {"filters": [among]})
    assert several["meta"]["did_you_mean"] == answer["meta"]["did_you_mean"]
    misspelt = {
        "dimension": "utm_source",
        "op": "in",
        "value": ["googel", "gogle", "googl", "ggoogle", "googlee"],
    }
    suggested = (await query_client.query(plan | {"filters": [misspelt]}))["meta"]["did_you_mean"]
    assert [each["value"] for each in suggested] == ["googel", "gogle", "googl"]
    known = {"metrics": ["refunds"], "filters": [{"dimension": "currency", "value": "USD"}],
             "date_range": {"from": "2026-07-01", "to": "2026-07-02"}}  # fmt: skip
    assert (await query_client.query(known))["meta"]["did_you_mean"] == []


@pytest.mark.parametrize(
    ("plan", "code", "field"),
    [
        ({"metrics": []}, "missing_field", "metrics"),
        ({"metrics": ["fame"]}, "unknown_metric", "metrics[0]"),
        ({"metrics": ["visitors"] * 11}, "too_many_metrics", "metrics"),
        ({"metrics": ["visitors"], "dimensions": ["mood"]}, "unknown_dimension", "dimensions[0]"),
        ({"metrics": ["visitors"], "dimensions": ["os", "browser", "city", "lyr"]}, "too_many_dimensions", "dimensions"),
        ({"metrics": ["visitors", "revenue"], "dimensions": ["page_path"]}, "incompatible_dimension", "dimensions[0]"),
        ({"metrics": ["session_starts"], "filters": [{"dimension": "page_path", "value": "/"}]},
         "incompatible_dimension", "filters[0]"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "value": "x"}] * 11}, "too_many_filters", "filters"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "op": "like", "value": "x"}]}, "invalid_filter",
         "filters[0].op"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "op": "in", "value": "x"}]}, "invalid_filter",
         "filters[0].value"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "op": "between", "value": ["x"]}]}, "invalid_filter",
         "filters[0].value"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "op": "is_set", "value": "x"}]}, "invalid_filter",
         "filters[0].value"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os"}]}, "invalid_filter", "filters[0].value"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "value": True}]}, "invalid_filter", "filters[0].value"),
        ({"metrics": ["visitors"], "filters": [{"dimension": "os", "op": "in", "value": ["x", False]}]}, "invalid_filter",
         "filters[0].value"),
        ({"metrics": ["visitors"], "interval": "minute"}, "invalid_interval", "interval"),
        ({"metrics": ["visitors"], "order_by": [{"field": "sessions"}]}, "invalid_parameter", "order_by[0].field"),
        ({"metrics": ["visitors"], "attribution": {"model": "gut"}}, "invalid_attribution", "attribution.model"),
        ({"metrics": ["visitors"], "compare": "next_year"}, "invalid_parameter", "compare"),
        ({"metrics": ["visitors"], "compare": 1}, "invalid_parameter", "compare"),
        ({"metrics": ["visitors"], "compare": {"from": "2026-07-01", "until": "x"}}, "unknown_field", "compare.until"),
        ({"metrics": ["visitors"], "compare": {"from": "2026-07-01", "to": 1}}, "invalid_parameter", "compare.to"),
        ({"metrics": ["visitors"], "compare": {"from": "2026-07-02", "to": "2026-07-01"}}, "invalid_date_range",
         "compare"),
        ({"metrics": ["visitors"], "workspace_id": "x"}, "workspace_id_not_allowed", "workspace_id"),
        ({"metrics": ["visitors"], "date_range": {"preset": "someday"}}, "invalid_date_range", "date_range"),
        ({"metrics": ["visitors"], "colour": "red"}, "unknown_field", "colour"),
    ],
)  # fmt: skip
async def test_invalid_plan_is_refused_with_its_code(query_client, plan, code, field):
    refused = await query_error(query_client, plan)
    assert (refused.code, refused.field) == (code, field)


async def test_unmeasured_metric_is_null_with_a_reason(query_client):
    answer = await query_client.query(
        {"metrics": ["attributed_revenue", "attributed_roas"], "dimensions": ["platform"]}
    )
    assert answer["rows"] == [{"platform": "(not set)", "attributed_revenue": 120.5, "attributed_roas": None}]
    assert answer["totals"]["attributed_roas"] is None
    assert answer["meta"]["unavailable"] == [{"metric": "attributed_roas", "reason": "no_ad_platform"}]


async def test_revenue_by_provider_and_product(query_client):
    answer = await query_client.query(
        {"metrics": ["net_revenue", "orders"], "dimensions": ["provider", "product"]}
    )
    assert answer["rows"] == [
        {"provider": "tracked", "product": "(not set)", "net_revenue": 100.0, "orders": 1}
    ]


async def test_foreign_currency_makes_revenue_unavailable(query_client):
    query_client.story.add_event(
        "purchase", at="2026-07-03T10:00", visitor="V4", revenue=1000, currency="EUR", order_id="9"
    )
    await query_client.store.append(query_client.story.events[-1:])
    answer = await query_client.query({"metrics": ["revenue", "orders", "aov"], "dimensions": ["currency"]})
    assert answer["rows"] == [
        {"currency": "USD", "revenue": 120.5, "orders": 1, "aov": 120.5},
        {"currency": "EUR", "revenue": None, "orders": 1, "aov": None},
    ]
    assert answer["totals"] == {"revenue": None, "orders": 2, "aov": None}
    assert answer["meta"]["unavailable"] == [
        {"metric": "revenue", "reason": "missing_fx_rate"},
        {"metric": "aov", "reason": "missing_fx_rate"},
    ]


async def test_order_of_value_zero_needs_no_exchange_rate(query_client):
    query_client.story.add_event(
        "purchase", at="2026-07-03T10:00", visitor="V4", revenue=0, currency="EUR", order_id="9"
    )
    await query_client.store.append(query_client.story.events[-1:])
    answer = await query_client.query({"metrics": ["revenue", "orders"]})
    assert (answer["totals"], answer["meta"]["unavailable"]) == ({"revenue": 120.5, "orders": 2}, [])


async def test_stickiness_is_the_mean_daily_active_over_the_monthly(query_client):
    answer = await query_client.query({"metrics": ["stickiness", "active_users_30d", "active_users_1d"]})
    assert answer["totals"] == {
        "stickiness": round((1 + 2 + 0 + 0 + 1 + 1 + 0) / 7 / 3, 6), "active_users_30d": 3, "active_users_1d": 0,
    }  # fmt: skip


async def test_sorting_by_a_ratio_puts_null_last(query_client):
    plan = {
        "metrics": ["bounce_rate"],
        "interval": "day",
        "order_by": [{"field": "bounce_rate", "direction": "asc"}],
    }
    values = [row["bounce_rate"] for row in (await query_client.query(plan))["rows"]]
    assert values == [0.0, 0.5, 1.0, None, None, None, None]


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [
        ("2026-07-01T16:00Z", "2026-07-02", (2,)),  # the first day is cut
        ("2026-07-01", "2026-07-02T23:00Z", (1,)),  # so is the last
        ("2026-07-06", "2026-07-08", (1, 0)),  # today still runs
    ],
)
async def test_stickiness_uses_only_complete_past_days(query_client, first, last, days):
    await query_client.store.append([query_client.story.add_event("x", at="2026-07-08T14:00", visitor="V3")])
    plan = {"metrics": ["stickiness", "active_users_30d"], "date_range": {"from": first, "to": last}}
    totals = (await query_client.query(plan))["totals"]
    assert totals["active_users_30d"] == 3
    assert totals["stickiness"] == round(sum(days) / len(days) / 3, 6)


async def test_day_without_visitors_has_a_stickiness_of_zero(query_client):
    plan = {"metrics": ["stickiness"], "interval": "day"}
    values = [row["stickiness"] for row in (await query_client.query(plan))["rows"]]
    assert values == [1.0, 0.666667, 0.0, 0.0, 0.333333, 0.333333, 0.0]
