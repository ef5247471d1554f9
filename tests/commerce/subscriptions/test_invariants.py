"""What holds for whatever providers may have sent, through every door, on both stores."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.kernel.timestamps import format_timestamp
from service_core.testing.subscription_histories import random_subscription_histories
from tests.analytics.dataset_client import generated_examples
from tests.analytics.deployment import STORES, run_deployment
from tests.commerce.subscriptions.subscription_data import connect_revenue_provider, save_subscription_facts

START = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = 80
MOVES = ("mrr_new", "mrr_expansion", "mrr_contraction", "mrr_churn", "mrr_reactivation")
COUNTS = (
    "new_subscriptions", "churned_subscriptions", "trials_started", "trials_converted", "failed_payments",
    "subscription_revenue",
)  # fmt: skip
STATES = ("mrr", "arr", "active_subscriptions")
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu")
CENT = Decimal("0.01")


@pytest.fixture(params=list(STORES))
async def served(request, tmp_path):
    async with run_deployment(request.param, tmp_path) as served:
        yield served


async def load_generated_subscriptions(served, history, zone):
    """A shop whose providers told a history."""
    shop = await served.workspace(timezone=zone)
    await connect_revenue_provider(shop)
    await save_subscription_facts(shop, *history.states, payments=history.payments)
    return shop


def to_decimal(number):
    return Decimal(str(number))


def generated_date_ranges():
    """Two instants in and around a history."""
    days = st.integers(-5, DAYS + 30)
    return st.tuples(days, days).map(
        lambda ends: tuple(START + timedelta(days=d, hours=7) for d in sorted(ends))
    )


def date_range_parameters(first, last):
    return {"from": format_timestamp(first), "to": format_timestamp(last)}


async def metric_values(shop, metrics, first, last):
    answer = await shop.post(
        "/metrics", {"metrics": list(metrics), "date_range": date_range_parameters(first, last)}
    )
    return {one["id"]: one["value"] for one in answer["metrics"]}


@generated_examples
@given(
    history=random_subscription_histories(START, DAYS),
    span=generated_date_ranges(),
    zone=st.sampled_from(ZONES),
    unit=st.sampled_from(["day", "week", "month"]),
)
async def test_mrr_movements_add_up_on_every_endpoint(served, history, span, zone, unit):
    shop, (first, last) = await load_generated_subscriptions(served, history, zone), span
    before = await metric_values(
        shop, ["mrr"], first - timedelta(days=400), first - timedelta(milliseconds=1)
    )
    whole = await metric_values(shop, (*STATES, *MOVES, *COUNTS), first, last)
    slack = 0 if history.has_whole_monthly_amounts else 4 * CENT
    moved = sum(to_decimal(whole[name]) for name in MOVES)
    assert abs(to_decimal(before["mrr"]) + moved - to_decimal(whole["mrr"])) <= slack

    plan = {
        "metrics": [*STATES[:1], *MOVES],
        "date_range": date_range_parameters(first, last),
        "interval": unit,
        "limit": 1000,
    }
    answer = await shop.post("/query", plan)
    assert answer["totals"] == {name: whole[name] for name in plan["metrics"]}
    ends = [before["mrr"], *(row["mrr"] for row in answer["rows"])]
    for (start, end), row in zip(pairwise(ends), answer["rows"], strict=True):
        assert (
            abs(to_decimal(start) + sum(to_decimal(row[name]) for name in MOVES) - to_decimal(end)) <= slack
        )
    assert ends[-1] == whole["mrr"]

    dates = {"start_date": format_timestamp(first), "end_date": format_timestamp(last)}
    summary = (await shop.get("/subscriptions", **dates))["summary"]
    moves = {name: to_decimal(value) for name, value in summary["movements"].items()}
    assert float(moves["start_mrr"]) == before["mrr"]
    assert summary["mrr"] == float(moves["end_mrr"]) == whole["mrr"]
    assert moves.pop("start_mrr") + sum(v for k, v in moves.items() if k != "end_mrr") == moves["end_mrr"]
    assert all(abs(moves[name.removeprefix("mrr_")] - to_decimal(whole[name])) <= 2 * CENT for name in MOVES)
    assert summary["active"] + summary["past_due"] == whole["active_subscriptions"]
    assert (summary["new"], summary["canceled"]) == (
        whole["new_subscriptions"],
        whole["churned_subscriptions"],
    )


@generated_examples
@given(
    history=random_subscription_histories(START, DAYS),
    span=generated_date_ranges(),
    zone=st.sampled_from(ZONES),
)
async def test_parts_add_up_and_values_are_equal_alone_and_in_bulk(served, history, span, zone):
    shop, (first, last) = await load_generated_subscriptions(served, history, zone), span
    every = (*STATES, *MOVES, *COUNTS, "churn_rate", "trial_conversion_rate")
    whole = await metric_values(shop, every, first, last)
    for name in every:
        assert (await metric_values(shop, [name], first, last))[name] == whole[name], name
    plan = {"date_range": date_range_parameters(first, last), "limit": 1000}
    by_day = await shop.post("/query", {**plan, "metrics": list(COUNTS), "interval": "day"})
    by_plan = await shop.post(
        "/query", {**plan, "metrics": [*COUNTS, *STATES[2:]], "dimensions": ["plan", "provider"]}
    )
    for rows, names in ((by_day["rows"], COUNTS), (by_plan["rows"], (*COUNTS, *STATES[2:]))):
        for name in names:
            assert sum(to_decimal(row[name]) for row in rows) == to_decimal(whole[name]), name
    worths = [*STATES[:2], *MOVES] if history.has_whole_monthly_amounts else []
    if worths:
        split = (await shop.post("/query", {**plan, "metrics": worths, "dimensions": ["product", "plan"]}))[
            "rows"
        ]
        for name in worths:
            assert sum(to_decimal(row[name]) for row in split) == to_decimal(whole[name]), name


@generated_examples
@given(
    history=random_subscription_histories(START, DAYS), span=generated_date_ranges(), seed=st.integers(0, 99)
)
async def test_result_does_not_depend_on_message_order_repeats_or_time_zone(served, history, span, seed):
    one, other = (
        await load_generated_subscriptions(served, history, "UTC"),
        await served.workspace(timezone="Asia/Kathmandu"),
    )
    await connect_revenue_provider(other)
    states, deeds = [list(facts) * 2 for facts in (history.states, history.payments)]
    Random(seed).shuffle(states)
    Random(seed).shuffle(deeds)
    while states or deeds:
        await save_subscription_facts(other, *states[:2], payments=deeds[:3])
        states, deeds = states[2:], deeds[3:]
    dates = {"start_date": format_timestamp(span[0]), "end_date": format_timestamp(span[1]), "limit": 200}
    answers = [await shop.get("/subscriptions", **dates) for shop in (one, other)]
    for answer in answers:
        answer.pop("range")
    assert answers[0] == answers[1]
    every = (*STATES, *MOVES, *COUNTS, "churn_rate")
    assert await metric_values(one, every, *span) == await metric_values(other, every, *span)
