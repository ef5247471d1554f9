"""`POST /metrics` and `GET /metrics/catalog`: golden values, changes and unavailable metrics."""

import re

import pytest

from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.reads.metric_catalog import get_metrics_catalog
from service_core.api.render import json_default
from service_core.kernel.errors import BadRequest
from service_core.kernel.timestamps import format_timestamp
from tests.analytics.deployment import run_deployment
from tests.analytics.golden_week import (
    CONNECTED_VALUES,
    EVENT_VALUES,
    ITEMS,
    add_week_of_visits,
    connect_all_sources,
)

WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}


async def test_every_metric_of_events_has_its_golden_value_alone(query_client):
    values = {
        metric: (await query_client.metrics(WEEK | {"metrics": [metric]}))["metrics"]
        for metric in EVENT_VALUES
    }
    assert {metric: value["value"] for metric, (value,) in values.items()} == EVENT_VALUES
    assert [metric for metric, (value,) in values.items() if not value["available"]] == []


async def test_rates_are_shares_of_sessions_with_a_cart_of_customers_and_of_revenue(query_client):
    buys = {"name": "purchase", "session": "s7"}
    later = (
        {"name": "add_to_cart", "at": "2026-07-03T10:00", "visitor": "V4", "session": "s6"},
        {**buys, "at": "2026-07-04T10:00", "visitor": "V1", "revenue": 5000, "order_id": "2"},
        {**buys, "at": "2026-07-04T11:00", "visitor": "V5", "revenue": 2950, "order_id": "3"},
        {**buys, "at": "2026-07-09T10:00", "visitor": "V5", "revenue": 100, "order_id": "4"},
    )
    await query_client.store.append([query_client.story.add_event(**result) for result in later])
    rates = ["cart_abandonment_rate", "repeat_purchase_rate", "refund_rate", "aov"]
    answer = await query_client.metrics(WEEK | {"metrics": rates})
    assert {value["id"]: value["value"] for value in answer["metrics"]} == {
        "cart_abandonment_rate": 0.5,
        "repeat_purchase_rate": 0.5,
        "refund_rate": 0.102500,
        "aov": 66.67,
    }


async def test_metrics_are_returned_in_request_order_with_repeats(query_client):
    ids = ["visitors", "ad_spend", "revenue", "visitors", "ad_spend"]
    answer = await query_client.metrics(WEEK | {"metrics": ids})
    assert [(value["id"], value["value"]) for value in answer["metrics"]] == [
        *(("visitors", 3), ("ad_spend", None), ("revenue", 120.5)),
        *(("visitors", 3), ("ad_spend", None)),
    ]
    assert [each["metric"] for each in answer["unavailable"]] == ["ad_spend"]


async def test_metric_has_the_same_value_in_bulk_and_alone(query_client):
    values = {}
    for ids in metric_id_batches(EVENT_VALUES, 50):
        answer = await query_client.metrics(WEEK | {"metrics": ids})
        values |= {value["id"]: value["value"] for value in answer["metrics"]}
    assert values == EVENT_VALUES


def test_every_metric_has_a_golden_value():
    assert EVENT_VALUES.keys() | CONNECTED_VALUES.keys() == {metric.id for metric in CORE_METRICS}


@pytest.mark.parametrize("store_name", ["memory", "duckdb"])
async def test_every_metric_has_its_golden_value_with_all_sources_connected(tmp_path, store_name):
    async with run_deployment(store_name, tmp_path) as deployment:
        shop = await deployment.workspace()
        add_week_of_visits(shop.story, ITEMS)
        await shop.knows()
        await connect_all_sources(shop)
        expected = EVENT_VALUES | CONNECTED_VALUES
        for ids in metric_id_batches(expected, 50):
            answer = await shop.post("/metrics", {"metrics": ids, "date_range": WEEK["date_range"]})
            # The buyer came through Google, whose spend is unknown: it is left out, and the answer says so.
            left_out = [id_ for id_ in ids if id_ in ("attributed_roas", "roas")]
            assert answer["unavailable"] == [
                {"metric": id_, "reason": "no_ad_platform", "platform": "google"} for id_ in left_out
            ]
            assert {value["id"]: value["value"] for value in answer["metrics"]} == {
                id_: expected[id_] for id_ in ids
            }


def metric_id_batches(ids, size):
    ids = list(ids)
    return [ids[start : start + size] for start in range(0, len(ids), size)]


async def test_metric_of_an_unconnected_source_is_null_with_its_reason(query_client):
    answer = await query_client.metrics(
        WEEK | {"metrics": ["revenue", "ad_spend", "mrr", "profit", "mer", "roas"]}
    )
    reasons = {value["id"]: (value["value"], value["unavailable_reason"]) for value in answer["metrics"]}
    assert reasons == {
        "revenue": (120.5, None),
        "ad_spend": (None, "no_ad_platform"),
        "mrr": (None, "no_revenue_provider"),
        "profit": (None, "no_cost_data"),
        "mer": (None, "no_ad_platform"),
        "roas": (None, "no_ad_platform"),
    }
    assert [each["metric"] for each in answer["unavailable"]] == ["ad_spend", "mrr", "profit", "mer", "roas"]
    assert answer["complete"] is True


async def test_response_matches_the_documented_example(query_client):
    request = {
        "metrics": ["revenue", "bounce_rate", "ad_spend"],
        "date_range": {"preset": "last_7_days"},
        "compare": True,
    }
    answer = await query_client.metrics(request)
    assert list(answer) == [
        "metrics", "range", "previous_range", "attribution", "refund_basis", "currency", "unavailable", "complete",
    ]  # fmt: skip
    assert list(answer["metrics"][0]) == [
        "id", "value", "previous_value", "change", "change_unit", "unit", "available", "unavailable_reason",
    ]  # fmt: skip
    assert answer["attribution"] is None
    assert format_timestamp(answer["previous_range"]["from"]) == "2026-06-25T04:00:00.000Z"
    assert format_timestamp(answer["previous_range"]["to"]) == "2026-07-01T15:00:00.000Z"


async def test_change_is_relative_and_in_percentage_points_for_rates(query_client):
    request = {"metrics": ["visitors", "bounce_rate", "leads"], "date_range": {"from": "2026-07-02", "to": "2026-07-02"},
               "compare": "previous_period"}  # fmt: skip
    visitors, bounce_rate, leads = (await query_client.metrics(request))["metrics"]
    assert (visitors["value"], visitors["previous_value"], visitors["change"], visitors["change_unit"]) == (
        2, 1, 1.0, "ratio",
    )  # fmt: skip
    assert (bounce_rate["value"], bounce_rate["change"], bounce_rate["change_unit"]) == (0.5, 50.0, "pp")
    assert leads["change"] is None


async def test_comparison_range_can_be_explicit(query_client):
    request = WEEK | {"metrics": ["visitors"], "compare": {"from": "2026-07-01", "to": "2026-07-01"}}
    assert (await query_client.metrics(request))["metrics"][0]["previous_value"] == 1


async def test_all_time_comparison_uses_the_same_range(query_client):
    all_time = {"preset": "all_time"}
    answer = await query_client.metrics({"metrics": ["events"], "date_range": all_time, "compare": all_time})
    assert answer["previous_range"] == answer["range"]
    assert answer["metrics"][0]["previous_value"] == answer["metrics"][0]["value"]


async def test_empty_text_in_a_body_counts_as_absent(query_client):
    plain = {"metrics": ["visitors"], **WEEK}
    empty = {"start_date": "", "end_date": "", "date_range": WEEK["date_range"] | {"preset": ""}}
    assert await query_client.metrics(plain | empty) == await query_client.metrics(plain)


async def test_refunds_can_be_booked_on_the_order_day(query_client):
    request = {"metrics": ["refunds"], "start_date": "2026-07-01", "end_date": "2026-07-01"}
    assert (await query_client.metrics(request))["metrics"][0]["value"] == 0.0
    assert (await query_client.metrics(request | {"refund_basis": "order"}))["metrics"][0]["value"] == 20.5


async def test_all_time_starts_with_the_first_event(query_client):
    answer = await query_client.metrics({"metrics": ["events"], "date_range": {"preset": "all_time"}})
    assert format_timestamp(answer["range"]["from"]) == "2026-07-01T04:00:00.000Z"


@pytest.mark.parametrize("model", ["first_touch", "last_touch", "linear", "position_based", "time_decay"])
async def test_response_names_the_attribution_used(query_client, model):
    request = WEEK | {
        "metrics": ["attributed_conversions"],
        "attribution": {"model": model, "window_days": 7},
    }
    answer = await query_client.metrics(request)
    assert answer["attribution"] == {"model": model, "window_days": 7}
    assert answer["metrics"][0]["value"] == 2


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"metrics": ["visitors"] * 51, **WEEK}, "too_many_metrics"),
        ({"metrics": ["visitors"]}, None),
        (
            {"metrics": ["visitors"], "start_date": "2026-07-01", "end_date": "2026-07-02", **WEEK},
            "invalid_date_range",
        ),
        ({"metrics": ["visitors"], "compare": "next_year", **WEEK}, "invalid_parameter"),
        ({"metrics": ["visitors"], "workspace_id": "x", **WEEK}, "workspace_id_not_allowed"),
        ({"metrics": "visitors", **WEEK}, "invalid_parameter"),
        (WEEK, "missing_field"),
    ],
)
async def test_invalid_metrics_request_is_refused(query_client, request_, code):
    with pytest.raises(BadRequest) as refused:
        await query_client.metrics(request_)
    assert refused.value.code == code


async def test_catalog_entry_matches_the_documented_example(query_client):
    answer = json_default(await get_metrics_catalog(caller=query_client.caller, queries=query_client.queries))
    entry = next(entry for entry in answer["metrics"] if entry["id"] == "aov")
    assert entry == {
        "id": "aov", "label": "Average order value", "description": "Revenue divided by orders.",
        "unit": "currency_per_unit", "category": "revenue", "availability": {"available": True, "reason": None},
        "dimensions": [
            "product", "provider", "currency", "plan", "attribution_source", "attribution_medium", "channel", "utm_source",
            "utm_medium", "utm_campaign", "utm_term", "utm_content", "click_id_type", "lyr", "referrer_host", "landing_page",
            "country", "region", "city", "device_type", "browser", "os", "language", "app_version", "new_vs_returning",
            "import", "first_touch_channel", "first_touch_source", "first_touch_campaign",
        ],
        "requires_attribution": False, "additivity": "ratio", "change_unit": "ratio", "version": 1, "has_receipt": True,
    }  # fmt: skip
    assert list(entry) == [
        "id", "label", "description", "unit", "category", "availability", "dimensions", "requires_attribution",
        "additivity", "change_unit", "version", "has_receipt",
    ]  # fmt: skip
    assert answer["count"] == len(CORE_METRICS) >= 93
    assert list(answer["dimensions"][0]) == ["id", "label", "description"]


async def test_catalog_marks_metrics_of_missing_sources_as_unavailable(query_client):
    answer = json_default(await get_metrics_catalog(caller=query_client.caller, queries=query_client.queries))
    unavailable = {
        e["id"]: e["availability"]["reason"] for e in answer["metrics"] if not e["availability"]["available"]
    }
    assert unavailable.keys().isdisjoint(EVENT_VALUES)
    assert unavailable["ad_spend"] == "no_ad_platform"
    assert unavailable["churn_rate"] == "no_revenue_provider"


def test_every_metric_and_dimension_has_a_description():
    for each in (*CORE_METRICS, *CORE_DIMENSIONS):
        assert re.fullmatch(r"[a-z0-9_]+", each.id)
        assert each.label
        assert each.description.endswith(".")
