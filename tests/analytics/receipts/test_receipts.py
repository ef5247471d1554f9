"""Receipts of numbers: they add up to the value of the query on each store, and say what they leave out."""

import orjson
import pytest

from tests.analytics.deployment import STORES
from tests.analytics.golden_week import ITEMS, WEEK, add_week_of_visits, connect_all_sources
from tests.analytics.receipts.receipt_reads import faults_of, open_receipt, require_receipt_of_value
from tests.commerce.fx.exchange_rate_data import deployment_with_rates, save_rates

PLAN = {"date_range": WEEK}


async def week_shop(served):
    shop = await served.workspace()
    add_week_of_visits(shop.story, ITEMS)
    await shop.knows()
    return shop


async def metrics_with_receipt(shop):
    return [each["id"] for each in (await shop.get("/metrics/catalog"))["metrics"] if each["has_receipt"]]


async def test_receipt_of_each_metric_adds_up_to_the_value_of_the_query(served):
    shop = await week_shop(served)
    await connect_all_sources(shop)
    metrics = await metrics_with_receipt(shop)
    assert {"revenue", "refunds", "net_revenue", "orders", "aov", "customers", "ad_spend", "cpc", "mer"} <= {
        *metrics
    }
    assert {"visitors", "sessions", "pageviews", "events", "conversions", "bounce_rate"} <= {*metrics}
    for metric in metrics:
        plan = PLAN | {"metrics": [metric]}
        totals = (await shop.post("/query", plan))["totals"]
        opened = await require_receipt_of_value(shop, plan, metric, totals[metric])
        again = await shop.get(f"/receipts/{opened.answer['id']}")
        assert again == opened.answer
        assert again["definition"]["metric"] == metric


async def test_receipt_of_a_cell_adds_up_to_the_value_of_the_row(served):
    shop = await week_shop(served)
    metrics = ["visitors", "pageviews", "session_starts"]
    plan = PLAN | {"metrics": metrics, "dimensions": ["channel", "country"], "interval": "day"}
    rows = (await shop.post("/query", plan))["rows"]
    for row in rows:
        key = {name: row[name] for name in ("bucket", "channel", "country")}
        for metric in metrics:
            await require_receipt_of_value(shop, plan, metric, row[metric], key)
    assert len(rows) > 3


async def test_records_are_paged_and_name_events_and_contributions(served):
    shop = await week_shop(served)
    plan = PLAN | {"metrics": ["pageviews"]}
    opened = await open_receipt(shop, plan, "pageviews", page_size=1)
    assert len(opened.records) == 4
    assert faults_of(opened) == []
    assert {*opened.records[0]} == {"term", "event_id", "event_name", "timestamp", "contribution"}


async def test_receipt_counts_what_is_left_out_by_reason(served):
    shop = await served.workspace()
    for number in range(2):
        shop.story.add_event("page_view", at="2026-07-02T10:00:00", visitor=f"V{number}")
        shop.story.add_event("page_view", at="2026-07-02T10:00:00", visitor="B", is_bot=True, session="sb")
        shop.story.add_event(
            "purchase", at=f"2026-07-02T1{number}:00:00", visitor="V0", revenue=500, order_id="O1"
        )
        shop.story.add_event(
            "purchase", at="2026-07-02T12:00:00", visitor="V0", is_test=True, order_id=f"T{number}"
        )
    shop.story.add_event("purchase", at="2026-07-02T13:00:00", visitor="S", from_device=False, order_id="O2")
    await shop.knows()
    left_out = {}
    for metric in ("pageviews", "visitors", "conversions", "session_starts"):
        opened = await open_receipt(shop, PLAN | {"metrics": [metric]}, metric)
        assert faults_of(opened) == []
        left_out[metric] = {each["reason"]: each["records"] for each in opened.answer["left_out"]}
    assert left_out == {
        "pageviews": {"bot": 2},
        "visitors": {"bot": 2, "no_visit": 1},
        "conversions": {"test": 2, "duplicate_order": 1},
        "session_starts": {"bot": 1},
    }


async def test_receipt_of_money_counts_reports_left_out_and_names_orders(served):
    shop = await served.workspace()
    for number in range(2):
        shop.story.add_event(
            "purchase", at=f"2026-07-02T1{number}:00:00", visitor="V0", revenue=500, order_id="O1"
        )
        shop.story.add_event("purchase", at="2026-07-02T12:00:00", visitor="V0", revenue=700, is_test=True)
        shop.story.add_event(
            "refund", at=f"2026-07-03T1{number}:00:00", visitor="V0", revenue=-100, order_id="O1"
        )
    shop.story.add_event("purchase", at="2026-07-02T13:00:00", visitor="B", revenue=900, is_bot=True)
    shop.story.add_event("view_item", at="2026-07-02T13:00:00", visitor="V0", revenue=900)
    await shop.knows()
    opened = {
        metric: await open_receipt(shop, PLAN | {"metrics": [metric]}, metric)
        for metric in ("net_revenue", "orders", "aov")
    }
    assert all(faults_of(each) == [] for each in opened.values())
    net = opened["net_revenue"].answer
    assert (net["value"], net["definition"]["formula"]) == (3, "revenue - refunds")
    assert [(term["name"], term["value"]) for term in net["terms"]] == [("revenue", 5), ("refunds", 2)]
    assert {record["order_id"] for record in opened["net_revenue"].records} == {"O1"}
    left_out = {(each["term"], each["reason"]): each["records"] for each in net["left_out"]}
    assert left_out == {("revenue", "bot"): 1, ("revenue", "test"): 2, ("revenue", "duplicate_order"): 1}
    assert {each["reason"]: each["records"] for each in opened["orders"].answer["left_out"]} == {
        "bot": 1, "test": 2, "duplicate_order": 1,
    }  # fmt: skip


@pytest.mark.parametrize("store", ["memory", "duckdb"])
async def test_receipt_of_foreign_money_names_the_rates_it_was_converted_by(tmp_path, store):
    async with deployment_with_rates(tmp_path, STORES[store]) as served:
        shop = await served.workspace()
        await save_rates(shop, {"2026-07-02": {"USD": "1.10"}, "2026-07-03": {"USD": "1.20"}})
        for day, order in (("02", "O1"), ("03", "O2")):
            shop.story.add_event(
                "purchase",
                at=f"2026-07-{day}T15:00:00",
                visitor="V0",
                revenue=333,
                currency="EUR",
                order_id=order,
            )
        shop.story.add_event(
            "refund", at="2026-07-04T15:00:00", visitor="V0", revenue=-333, currency="EUR", order_id="O1"
        )
        await shop.knows()
        totals = (await shop.post("/query", PLAN | {"metrics": ["net_revenue"]}))["totals"]
        opened = await require_receipt_of_value(
            shop, PLAN | {"metrics": ["net_revenue"]}, "net_revenue", totals["net_revenue"]
        )
    assert totals["net_revenue"] == 4
    assert [(each["currency"], each["date"], each["rate"]) for each in opened.answer["fx"]] == [
        ("EUR", "2026-07-02", 1.1), ("EUR", "2026-07-03", 1.2),
    ]  # fmt: skip


@pytest.mark.parametrize("store", ["memory", "duckdb"])
async def test_receipt_of_money_without_a_rate_has_a_sum_for_each_currency(tmp_path, store):
    async with deployment_with_rates(tmp_path, STORES[store]) as served:
        shop = await served.workspace()
        await save_rates(shop, {"2026-07-02": {"USD": "1.10"}})
        for order, currency, revenue in (
            *(("O1", "USD", 1000), ("O2", "EUR", 1000), ("O3", "GBP", 250)),
            *(("O4", "GBP", 125), ("O5", "JPY", 700)),
        ):
            shop.story.add_event(
                "purchase",
                at="2026-07-02T15:00:00",
                visitor="V0",
                revenue=revenue,
                currency=currency,
                order_id=order,
            )
        await shop.knows()
        opened = await open_receipt(shop, PLAN | {"metrics": ["revenue"]}, "revenue")
    assert faults_of(opened) == []
    (term,) = opened.answer["terms"]
    assert (opened.answer["value"], term["value"]) == (None, None)
    assert term["amounts"] == [
        {"currency": "GBP", "amount": 3.75},
        {"currency": "JPY", "amount": 700},
        {"currency": "USD", "amount": 21},
    ]
    assert sorted(each.get("contribution_currency", "") for each in opened.records) == [
        "", "", "GBP", "GBP", "JPY",
    ]  # fmt: skip


async def test_receipt_of_changed_records_says_so(served):
    shop = await week_shop(served)
    opened = await open_receipt(shop, PLAN | {"metrics": ["events"]}, "events")
    shop.story.add_event("page_view", at="2026-07-03T10:00:00", visitor="late")
    await shop.knows(shop.story.events[-1])
    page = await shop.get(f"/receipts/{opened.answer['id']}/records")
    assert (page["unchanged"], page["total_count"]) == (False, opened.answer["counted"]["records"] + 1)
    assert await shop.get(f"/receipts/{opened.answer['id']}") == opened.answer


async def test_receipt_is_not_visible_to_another_workspace_and_expires(served):
    shop, other = await week_shop(served), await served.workspace()
    opened = await open_receipt(shop, PLAN | {"metrics": ["events"]}, "events")
    path = f"/receipts/{opened.answer['id']}"
    for client in (other,):
        assert (await client.ask("GET", path))[0] == 404
        assert (await client.ask("GET", f"{path}/records"))[0] == 404


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"metric": "visits"}, "unknown_metric", "metric"),
        ({"metric": "mrr", "plan": {"metrics": ["mrr"]}}, "no_receipt", "metric"),
        ({"key": {"country": "DE"}}, "unknown_dimension", "key.country"),
        ({"key": {"bucket": "2026-07-01T00:00:00.000Z"}}, "invalid_parameter", "key.bucket"),
        ({"plan": {"metrics": ["visits"]}}, "unknown_metric", "metrics[0]"),
        (
            {"plan": {"metrics": ["events"], "dimensions": ["channel"], "top": {"limit": 1, "other": True}},
             "key": {"channel": "(other)"}},
            "no_receipt", "key.channel",
        ),
    ],
)  # fmt: skip
async def test_errors_name_the_field(served, fields, code, field):
    shop = await served.workspace()
    plan = PLAN | {"metrics": ["events"]} | fields.get("plan", {})
    body = {"metric": "events"} | fields | {"plan": plan}
    status, answer = await shop.ask("POST", "/receipts", body=orjson.dumps(body))
    assert (status, answer["code"], answer["field"]) == (400, code, field)
