"""`POST /explain-change` on every metric of a week: contributions add up, vanished groups, unusual days, outages."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import orjson
import pytest

from service_core.analytics.explanation.coverage import find_days_with_missing_events
from service_core.ingestion.models import IngestEndpoint, LedgerRow
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import campaign_columns
from tests.analytics.golden_week import ITEMS, add_week_of_visits, connect_all_sources

BACK = {"from": "2026-07-01", "to": "2026-07-03"}
PLAN = {"date_range": {"from": "2026-07-04", "to": "2026-07-07"}, "compare": BACK}


EXPLAINED = (
    "visitors", "pageviews", "bounce_rate", "avg_session_duration", "conversion_rate", "stickiness", "net_revenue", "aov",
    "mrr", "ctr", "attributed_revenue", "attributed_aov", "roas", "cart_abandonment_rate", "revenue_per_visitor",
)  # fmt: skip
"""Metrics of every form: additive, distinct, state, ratio with and without complement, mean of days, credits, money."""


async def week_shop(served):
    shop = await served.workspace()
    add_week_of_visits(shop.story, ITEMS)
    await shop.knows()
    await connect_all_sources(shop)
    return shop


def decimal(number):
    return Decimal(str(number))


async def test_contributions_of_each_dimension_add_up_to_the_change_of_every_metric(served):
    shop = await week_shop(served)
    metrics = [each for each in (await shop.get("/metrics/catalog"))["metrics"] if each["id"] in EXPLAINED]
    explained = 0
    for metric in metrics:
        answer = await shop.post("/explain-change", {"metric": metric["id"], "limit": 1} | PLAN)
        if answer["change"] is None:
            assert answer["drivers"] == []
            continue
        assert decimal(answer["to"]) - decimal(answer["from"]) == decimal(answer["change"]), metric["id"]
        sums = {}
        for driver in answer["drivers"]:
            sums[driver["dimension"]] = sums.get(driver["dimension"], 0) + decimal(driver["contribution"])
        for dimension, total in sums.items():
            assert total == decimal(answer["change"]), (metric["id"], dimension)
            explained += 1
        for parts in answer["rate_and_mix"] or ():
            assert decimal(parts["rate"]) + decimal(parts["mix"]) == decimal(answer["change"])
        assert (answer["rate_and_mix"] is not None) is (metric["additivity"] == "ratio"), metric["id"]
    assert explained > 40


async def test_campaign_that_was_switched_off_drives_the_change(served):
    shop = await week_shop(served)
    answer = await shop.post("/explain-change", {"metric": "pageviews", "dimensions": ["utm_source"]} | PLAN)
    assert (answer["from"], answer["to"], answer["change"]) == (3, 1, -2)
    assert answer["drivers"] == [
        {"dimension": "utm_source", "value": "facebook", "from": 1, "to": 0, "contribution": -1, "kind": "vanished"},
        {"dimension": "utm_source", "value": "google", "from": 1, "to": 0, "contribution": -1, "kind": "vanished"},
    ]  # fmt: skip


async def test_errors_name_the_field(served):
    shop = await served.workspace()
    for fields, code, field in (
        ({"metric": "visits"}, "unknown_metric", "metrics[0]"),
        ({"metric": "mer", "dimensions": ["country"]}, "incompatible_dimension", "dimensions[0]"),
        ({"metric": "visitors", "compare": False}, "invalid_parameter", "compare"),
    ):
        status, answer = await shop.ask("POST", "/explain-change", body=orjson.dumps(PLAN | fields))
        assert (status, answer["code"], answer["field"]) == (400, code, field)


async def test_unusual_day_is_shown_with_the_range_expected(served):
    shop = await served.workspace()
    last = date(2026, 7, 7)
    for n in range(64):
        day = last - timedelta(days=n)
        for visit in range(20 if n == 2 else 4):
            shop.story.add_event(
                "page_view",
                at=f"{day}T16:00:00",
                visitor=f"V{n}-{visit}",
                **campaign_columns("google", "cpc"),
            )
    await shop.knows()
    answer = await shop.post(
        "/explain-change",
        {"metric": "visitors", "dimensions": ["channel"], "date_range": {"preset": "last_7_days"}},
    )
    assert [
        (each["date"], each["value"], each["expected_low"], each["expected_high"])
        for each in answer["anomalies"]
    ] == [("2026-07-05", 20, 0, 10)]


HOUR = timedelta(hours=1)
START = datetime(2026, 7, 1, tzinfo=UTC)


def ledger_row(hour, received=20, **counts):
    fields = {"stored": received, "duplicate": 0, "quarantined": 0, "in_flight": 0, "late": 0, "bots": 0}
    return LedgerRow(
        hour=hour, key_id=new_id(), channel=next(iter(IngestEndpoint)), received=received,
        **{**fields, "rejected_by_reason": {}, **counts},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("without", "counts", "expected"),
    [
        (range(0), {}, []),
        (range(30, 32), {}, []),
        (range(30, 33), {}, [(date(2026, 7, 2), "no_events_received")]),
        (
            range(46, 50),
            {},
            [(date(2026, 7, 2), "no_events_received"), (date(2026, 7, 3), "no_events_received")],
        ),
        (range(0), {"quarantined": 1}, [(date(2026, 7, 1), "events_quarantined")]),
        (range(0), {"in_flight": 1}, [(date(2026, 7, 1), "events_in_flight")]),
        (range(0), {"rejected_by_reason": {"enqueue_failed": 25}}, [(date(2026, 7, 1), "events_rejected")]),
        (range(0), {"rejected_by_reason": {"no_identity": 2}}, []),
    ],
)
def test_outages_of_the_ledger_are_days_with_a_reason(without, counts, expected):
    rows = [ledger_row(START + n * HOUR) for n in range(24 * 5) if n not in without]
    rows.append(ledger_row(START, 0, **counts))
    assert find_days_with_missing_events(rows, START + 24 * 5 * HOUR, ZoneInfo("UTC")) == expected
