"""`POST /metrics` and `GET /metrics/catalog`: golden values, changes, and honesty (contract 4.1, 4.2)."""

import re

import pytest

from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.reads.metric_catalog import get_metrics_catalog
from service_core.api.render import json_default
from service_core.kernel.errors import BadRequest
from service_core.kernel.timestamps import format_timestamp

WEEK = {"date_range": {"from": "2026-07-01", "to": "2026-07-07"}}

GOLDEN = {
    "visitors": 3, "new_visitors": 3, "returning_visitors": 0, "sessions": 5, "identified_users": 1,
    "active_users_1d": 0, "active_users_7d": 3, "active_users_30d": 3, "session_starts": 5, "pageviews": 4,
    "events": 8, "custom_events": 4, "signups": 1, "leads": 0, "bounce_rate": 0.5, "engagement_rate": 0.5,
    "stickiness": 0.238095, "avg_session_duration": 30.5, "pages_per_session": 1.0, "events_per_session": 1.75,
    "engaged_sessions": 2, "conversions": 2, "purchases": 1, "add_to_carts": 1, "checkouts_started": 0,
    "conversion_rate": 0.666667, "cart_abandonment_rate": 0.0, "gross_revenue": 120.5, "discounts": 0.0,
    "revenue": 120.5, "refunds": 20.5, "net_revenue": 100.0, "shipping": 0.0, "taxes": 0.0, "fees": 0.0,
    "aov": 120.5, "revenue_per_visitor": 40.17, "orders": 1, "refund_count": 1, "new_customers": 1, "customers": 1,
    "refund_rate": 0.170124, "repeat_purchase_rate": 0.0, "attributed_conversions": 2, "attributed_orders": 1,
    "attributed_new_customers": 1, "attributed_revenue": 120.5, "attributed_net_revenue": 100.0,
    "attributed_aov": 120.5,
}  # fmt: skip


async def test_every_metric_of_events_has_its_golden_value_alone(shop):
    values = {metric: (await shop.metrics(WEEK | {"metrics": [metric]}))["metrics"] for metric in GOLDEN}
    assert {metric: value["value"] for metric, (value,) in values.items()} == GOLDEN
    assert [metric for metric, (value,) in values.items() if not value["available"]] == []


async def test_rates_are_shares_of_sessions_with_a_cart_of_customers_and_of_revenue(shop):
    buys = {"name": "purchase", "session": "s7"}
    later = (
        {"name": "add_to_cart", "at": "2026-07-03T10:00", "visitor": "V4", "session": "s6"},
        {**buys, "at": "2026-07-04T10:00", "visitor": "V1", "revenue": 5000, "order_id": "2"},
        {**buys, "at": "2026-07-04T11:00", "visitor": "V5", "revenue": 2950, "order_id": "3"},
        {**buys, "at": "2026-07-09T10:00", "visitor": "V5", "revenue": 100, "order_id": "4"},
    )
    await shop.store.append([shop.story.add_event(**told) for told in later])
    rates = ["cart_abandonment_rate", "repeat_purchase_rate", "refund_rate", "aov"]
    answer = await shop.metrics(WEEK | {"metrics": rates})
    assert {value["id"]: value["value"] for value in answer["metrics"]} == {
        "cart_abandonment_rate": 0.5,
        "repeat_purchase_rate": 0.5,
        "refund_rate": 0.102500,
        "aov": 66.67,
    }


async def test_every_id_asked_is_answered_in_its_place_a_repeated_one_too(shop):
    ids = ["visitors", "ad_spend", "revenue", "visitors", "ad_spend"]
    answer = await shop.metrics(WEEK | {"metrics": ids})
    assert [(value["id"], value["value"]) for value in answer["metrics"]] == [
        *(("visitors", 3), ("ad_spend", None), ("revenue", 120.5)),
        *(("visitors", 3), ("ad_spend", None)),
    ]
    assert [each["metric"] for each in answer["unavailable"]] == ["ad_spend"]


async def test_a_metric_in_bulk_has_the_value_it_has_alone(shop):
    answer = await shop.metrics(WEEK | {"metrics": list(GOLDEN)})
    assert {value["id"]: value["value"] for value in answer["metrics"]} == GOLDEN


def test_every_metric_is_either_golden_or_waits_for_a_source():
    waiting = {metric.id for metric in CORE_METRICS} - GOLDEN.keys()
    categories = {"subscription", "ads", "blended", "delivery"}
    later = {metric.id for metric in CORE_METRICS if metric.category in categories}
    assert waiting - later == {"attributed_roas", "attributed_cpa", "attributed_cac"}


async def test_what_was_never_connected_is_null_with_its_reason(shop):
    answer = await shop.metrics(WEEK | {"metrics": ["revenue", "ad_spend", "mrr", "profit", "mer", "roas"]})
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


async def test_the_answer_has_the_shape_and_order_of_the_worked_example(shop):
    request = {
        "metrics": ["revenue", "bounce_rate", "ad_spend"],
        "date_range": {"preset": "last_7_days"},
        "compare": True,
    }
    answer = await shop.metrics(request)
    assert list(answer) == [
        "metrics", "range", "previous_range", "attribution", "refund_basis", "currency", "unavailable", "complete",
    ]  # fmt: skip
    assert list(answer["metrics"][0]) == [
        "id", "value", "previous_value", "change", "change_unit", "unit", "available", "unavailable_reason",
    ]  # fmt: skip
    assert answer["attribution"] is None
    assert format_timestamp(answer["previous_range"]["from"]) == "2026-06-25T04:00:00.000Z"
    assert format_timestamp(answer["previous_range"]["to"]) == "2026-07-01T15:00:00.000Z"


async def test_change_is_relative_and_in_points_for_rates(shop):
    request = {"metrics": ["visitors", "bounce_rate", "leads"], "date_range": {"from": "2026-07-02", "to": "2026-07-02"},
               "compare": "previous_period"}  # fmt: skip
    visitors, bounce_rate, leads = (await shop.metrics(request))["metrics"]
    assert (visitors["value"], visitors["previous_value"], visitors["change"], visitors["change_unit"]) == (
        2, 1, 1.0, "ratio",
    )  # fmt: skip
    assert (bounce_rate["value"], bounce_rate["change"], bounce_rate["change_unit"]) == (0.5, 50.0, "pp")
    assert leads["change"] is None


async def test_an_explicit_range_may_be_compared_with(shop):
    request = WEEK | {"metrics": ["visitors"], "compare": {"from": "2026-07-01", "to": "2026-07-01"}}
    assert (await shop.metrics(request))["metrics"][0]["previous_value"] == 1


async def test_all_time_is_the_same_range_when_it_is_compared_with(shop):
    all_time = {"preset": "all_time"}
    answer = await shop.metrics({"metrics": ["events"], "date_range": all_time, "compare": all_time})
    assert answer["previous_range"] == answer["range"]
    assert answer["metrics"][0]["previous_value"] == answer["metrics"][0]["value"]


async def test_an_empty_text_in_a_body_counts_as_absent(shop):
    plain = {"metrics": ["visitors"], **WEEK}
    empty = {"start_date": "", "end_date": "", "date_range": WEEK["date_range"] | {"preset": ""}}
    assert await shop.metrics(plain | empty) == await shop.metrics(plain)


async def test_refunds_may_be_booked_on_the_day_of_their_order(shop):
    request = {"metrics": ["refunds"], "start_date": "2026-07-01", "end_date": "2026-07-01"}
    assert (await shop.metrics(request))["metrics"][0]["value"] == 0.0
    assert (await shop.metrics(request | {"refund_basis": "order"}))["metrics"][0]["value"] == 20.5


async def test_all_time_starts_with_the_first_event(shop):
    answer = await shop.metrics({"metrics": ["events"], "date_range": {"preset": "all_time"}})
    assert format_timestamp(answer["range"]["from"]) == "2026-07-01T04:00:00.000Z"


@pytest.mark.parametrize("model", ["first_touch", "last_touch", "linear", "position_based", "time_decay"])
async def test_the_attribution_that_ran_is_named(shop, model):
    request = WEEK | {
        "metrics": ["attributed_conversions"],
        "attribution": {"model": model, "window_days": 7},
    }
    answer = await shop.metrics(request)
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
async def test_a_request_that_does_not_fit_is_refused(shop, request_, code):
    with pytest.raises(BadRequest) as refused:
        await shop.metrics(request_)
    assert refused.value.code == code


async def test_the_catalog_entry_of_the_worked_example(shop):
    answer = json_default(await get_metrics_catalog(caller=shop.caller, queries=shop.queries))
    entry = next(entry for entry in answer["metrics"] if entry["id"] == "aov")
    assert entry == {
        "id": "aov", "label": "Average order value", "description": "Revenue divided by orders.",
        "unit": "currency_per_unit", "category": "revenue", "availability": {"available": True, "reason": None},
        "dimensions": ["product", "provider", "currency", "plan", "new_vs_returning"],
        "requires_attribution": False, "additivity": "ratio", "change_unit": "ratio",
    }  # fmt: skip
    assert list(entry) == [
        "id", "label", "description", "unit", "category", "availability", "dimensions", "requires_attribution",
        "additivity", "change_unit",
    ]  # fmt: skip
    assert answer["count"] == len(CORE_METRICS) >= 93
    assert list(answer["dimensions"][0]) == ["id", "label", "description"]


async def test_what_needs_a_missing_source_is_unavailable_in_the_catalog(shop):
    answer = json_default(await get_metrics_catalog(caller=shop.caller, queries=shop.queries))
    unavailable = {
        e["id"]: e["availability"]["reason"] for e in answer["metrics"] if not e["availability"]["available"]
    }
    assert unavailable.keys().isdisjoint(GOLDEN)
    assert unavailable["ad_spend"] == "no_ad_platform"
    assert unavailable["churn_rate"] == "no_revenue_provider"


def test_every_metric_and_dimension_says_what_it_means():
    for each in (*CORE_METRICS, *CORE_DIMENSIONS):
        assert re.fullmatch(r"[a-z0-9_]+", each.id)
        assert each.label
        assert each.description.endswith(".")
