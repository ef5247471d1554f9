"""What subscriptions come to, in numbers worked out by hand."""

from dataclasses import replace

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.subscriptions.models import Interval, PaymentKind, SubscriptionStatus
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.subscriptions.subscription_data import (
    CHARGE_PAYMENT,
    FIRST,
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
    state_on_day,
)

JUNE = {"from": "2026-06-01", "to": "2026-06-30"}
MOVEMENTS = ("mrr_new", "mrr_expansion", "mrr_contraction", "mrr_churn", "mrr_reactivation")


@pytest.fixture
async def workspace_client(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        workspace_client = await served.workspace(timezone="UTC")
        await connect_revenue_provider(workspace_client)
        yield workspace_client


async def metric_values(workspace_client, *metrics, range_=JUNE, **fields):
    answer = await workspace_client.post(
        "/metrics", {"metrics": list(metrics), "date_range": range_, **fields}
    )
    return [one["unavailable_reason"] or one["value"] for one in answer["metrics"]]


async def monthly_buckets(workspace_client, *metrics, **fields):
    year = {"from": "2026-04-01", "to": "2026-08-31"}
    plan = {"metrics": list(metrics), "date_range": year, "interval": "month", **fields}
    return (await workspace_client.post("/query", plan))["rows"]


@pytest.mark.parametrize(
    ("amount", "interval", "count", "quantity", "mrr", "arr"),
    [
        (12000, Interval.YEAR, 1, 1, 10.0, 120.0),
        (3000, Interval.QUARTER, 1, 1, 10.0, 120.0),
        (1000, Interval.WEEK, 1, 1, 43.33, 520.0),
        (100, Interval.DAY, 1, 1, 30.42, 365.0),
        (6000, Interval.MONTH, 6, 1, 10.0, 120.0),
        (24000, Interval.YEAR, 2, 3, 30.0, 360.0),
    ],
)
async def test_price_is_normalised_to_a_monthly_amount(
    workspace_client, amount, interval, count, quantity, mrr, arr
):
    await save_subscription_facts(
        workspace_client,
        replace(MONTHLY, amount=amount, interval=interval, interval_count=count, quantity=quantity),
    )
    assert await metric_values(workspace_client, "mrr", "arr", "active_subscriptions") == [mrr, arr, 1]


@pytest.mark.parametrize(
    ("status", "mrr", "active"),
    [
        ("active", 10.0, 1), ("past_due", 10.0, 1), ("trialing", 0, 0), ("paused", 0, 0), ("unpaid", 0, 0),
        ("incomplete", 0, 0), ("canceled", 0, 0), ("expired", 0, 0),
    ],
)  # fmt: skip
async def test_mrr_counts_active_and_past_due_subscriptions(workspace_client, status, mrr, active):
    await save_subscription_facts(workspace_client, replace(MONTHLY, status=SubscriptionStatus(status)))
    assert await metric_values(workspace_client, "mrr", "active_subscriptions") == [mrr, active]


async def test_mrr_is_summed_exactly_and_rounded_once(workspace_client):
    weekly = replace(MONTHLY, interval=Interval.WEEK)
    await save_subscription_facts(
        workspace_client, *(replace(weekly, subscription_id=f"sub_{n}") for n in range(3))
    )
    assert await metric_values(workspace_client, "mrr", "arr") == [130.0, 1560.0]


async def test_subscription_moves_from_new_to_churned_and_back(workspace_client):
    await save_subscription_facts(
        workspace_client,
        MONTHLY,
        state_on_day(MONTHLY, 5, amount=3000),
        state_on_day(MONTHLY, 9, amount=2000, plan="basic"),
        state_on_day(MONTHLY, 12, status=SubscriptionStatus.PAUSED, amount=2000),
        state_on_day(MONTHLY, 20, amount=2500),
    )
    assert await metric_values(workspace_client, "mrr", *MOVEMENTS) == [25.0, 10.0, 20.0, -10.0, -20.0, 25.0]
    counted = await metric_values(
        workspace_client, "new_subscriptions", "churned_subscriptions", "active_subscriptions"
    )
    assert counted == [1, 1, 1]
    assert [row["mrr"] for row in await monthly_buckets(workspace_client, "mrr")] == [0, 0, 25.0, 25.0]


async def test_canceled_subscription_is_active_until_its_paid_period_ends(workspace_client):
    ends = FIRST.replace(month=7, day=2)
    canceled = state_on_day(
        MONTHLY, 10, status=SubscriptionStatus.CANCELED, canceled_at=FIRST.replace(day=10)
    )
    await save_subscription_facts(workspace_client, MONTHLY, replace(canceled, ended_at=ends))
    rows = await monthly_buckets(workspace_client, "mrr", "mrr_churn", "churned_subscriptions", "churn_rate")
    june, july = rows[2:]
    assert (june["mrr"], june["mrr_churn"], june["churned_subscriptions"]) == (10.0, 0, 0)
    assert (july["mrr"], july["mrr_churn"], july["churned_subscriptions"]) == (0, -10.0, 1)
    assert (june["churn_rate"], july["churn_rate"]) == (None, 1.0)


async def test_future_end_does_not_count_as_churn(workspace_client):
    ends = NOW.replace(day=20)
    await save_subscription_facts(workspace_client, replace(MONTHLY, ended_at=ends))
    july = {"from": "2026-07-01", "to": "2026-07-31"}
    assert await metric_values(workspace_client, "mrr", "churned_subscriptions", range_=july) == [10.0, 0]


async def test_subscription_without_an_end_keeps_its_last_status(workspace_client):
    await save_subscription_facts(
        workspace_client,
        replace(MONTHLY, at=FIRST.replace(year=2024), current_period_end=FIRST.replace(year=2025)),
    )
    assert await metric_values(workspace_client, "mrr", "active_subscriptions") == [10.0, 1]


async def test_trial_converts_at_its_first_payment(workspace_client):
    trial = replace(MONTHLY, status=SubscriptionStatus.TRIALING, trial_ends_at=FIRST.replace(day=8))
    others = [replace(trial, subscription_id=f"sub_{n}") for n in (2, 3, 4)]
    ended = state_on_day(others[0], 8, status=SubscriptionStatus.EXPIRED)
    unpaid = state_on_day(others[1], 8, status=SubscriptionStatus.PAST_DUE)
    await save_subscription_facts(
        workspace_client,
        *(trial, state_on_day(trial, 8, status=SubscriptionStatus.ACTIVE)),
        *(*others, ended, unpaid),
        payments=[
            replace(CHARGE_PAYMENT, at=FIRST.replace(day=8, hour=13)),
            replace(CHARGE_PAYMENT, message_id="c0", amount=0),
        ],
    )
    metrics = ("trials_started", "trials_converted", "trial_conversion_rate", "new_subscriptions")
    assert await metric_values(workspace_client, *metrics) == [4, 1, 0.333333, 2]
    assert await metric_values(workspace_client, "active_subscriptions", "mrr") == [2, 20.0]


async def test_charges_and_failed_payments_count_on_their_day_and_for_their_plan(workspace_client):
    failed = replace(
        CHARGE_PAYMENT, message_id="f1", kind=PaymentKind.FAILED_PAYMENT, amount=None, currency=None
    )
    later = replace(CHARGE_PAYMENT, message_id="c2", at=FIRST.replace(month=7), amount=2000)
    await save_subscription_facts(workspace_client, MONTHLY, payments=[CHARGE_PAYMENT, later, failed])
    rows = await monthly_buckets(
        workspace_client, "subscription_revenue", "failed_payments", dimensions=["plan"]
    )
    assert [(row["plan"], row["subscription_revenue"], row["failed_payments"]) for row in rows] == [
        ("pro", 10.0, 1),
        ("pro", 20.0, 0),
    ]


async def test_values_split_and_filter_by_plan_and_product(workspace_client):
    await save_subscription_facts(
        workspace_client,
        MONTHLY,
        replace(MONTHLY, subscription_id="sub_2", plan=None, product_id="app"),
        replace(MONTHLY, subscription_id="sub_3", provider="revenuecat", amount=500),
    )
    plan = {"metrics": ["mrr", "active_subscriptions"], "date_range": JUNE}
    by_plan = (await workspace_client.post("/query", {**plan, "dimensions": ["plan", "provider"]}))["rows"]
    assert [(row["plan"], row["provider"], row["mrr"], row["active_subscriptions"]) for row in by_plan] == [
        ("(not set)", "stripe", 10.0, 1),
        ("pro", "stripe", 10.0, 1),
        ("pro", "revenuecat", 5.0, 1),
    ]
    for op, value, mrr in (
        ("eq", "(not set)", 10.0), ("neq", "pro", 10.0), ("contains", "PR", 15.0), ("is_not_set", None, 10.0),
        ("in", ["pro", "(not set)"], 25.0), ("eq", "prp", 0), ("gt", "po", 15.0),
    ):  # fmt: skip
        told_plan = [{"dimension": "plan", "op": op, "value": value}]
        assert await metric_values(workspace_client, "mrr", filters=told_plan) == [mrr], op


async def test_plan_change_moves_mrr_to_the_new_plan(workspace_client):
    await save_subscription_facts(
        workspace_client, replace(MONTHLY, plan="basic"), state_on_day(MONTHLY, 20, amount=1500)
    )
    plan = {"metrics": ["mrr", "mrr_new", "mrr_expansion"], "date_range": JUNE, "dimensions": ["plan"]}
    rows = (await workspace_client.post("/query", plan))["rows"]
    assert [(row["plan"], row["mrr"], row["mrr_new"], row["mrr_expansion"]) for row in rows] == [
        ("pro", 15.0, 0, 5.0),
        ("basic", 0, 10.0, 0),
    ]


async def test_foreign_currency_makes_mrr_null(workspace_client):
    euros = replace(MONTHLY, subscription_id="sub_2", currency="EUR")
    await save_subscription_facts(
        workspace_client, MONTHLY, euros, state_on_day(euros, 9, status=SubscriptionStatus.EXPIRED)
    )
    assert await metric_values(workspace_client, "mrr", "mrr_new", "mrr_churn", "mrr_expansion", "active_subscriptions") == [
        10.0, "missing_fx_rate", "missing_fx_rate", 0, 1,
    ]  # fmt: skip
    in_dollars = [{"dimension": "currency", "value": "USD"}]
    assert await metric_values(workspace_client, "mrr_new", filters=in_dollars) == [10.0]


async def test_unknown_price_makes_mrr_null(workspace_client):
    silent = replace(MONTHLY, amount=None, currency=None, interval=None)
    await save_subscription_facts(workspace_client, silent)
    assert await metric_values(workspace_client, "mrr", "active_subscriptions") == [0, 0]
    await save_subscription_facts(workspace_client, state_on_day(MONTHLY, 9))
    assert await metric_values(workspace_client, "mrr", "active_subscriptions", "new_subscriptions") == [
        10.0,
        1,
        1,
    ]


async def test_test_mode_subscriptions_are_excluded(workspace_client):
    await save_subscription_facts(
        workspace_client, replace(MONTHLY, test=True), payments=[replace(CHARGE_PAYMENT, test=True)]
    )
    assert await metric_values(workspace_client, "mrr", "subscription_revenue") == [0, 0]


async def test_metrics_are_zero_when_connected_and_null_when_not(workspace_client):
    names = ("mrr", *MOVEMENTS, "arr", "active_subscriptions", "trials_started", "subscription_revenue")
    assert await metric_values(workspace_client, *names) == [0] * len(names)
    assert await metric_values(workspace_client, "churn_rate", "trial_conversion_rate") == [None, None]
    await connect_revenue_provider(workspace_client, ConnectionStatus.ERROR)
    assert await metric_values(workspace_client, *names) == ["source_error"] * len(names)
    await connect_revenue_provider(workspace_client, ConnectionStatus.DISCONNECTED)
    assert await metric_values(workspace_client, *names) == ["no_revenue_provider"] * len(names)


async def test_unreadable_subscriptions_are_unverified(workspace_client, monkeypatch):
    def broken(plan):
        raise StoreUnavailable

    monkeypatch.setattr(workspace_client.service.ports.workspace.subscriptions, "sum_movements", broken)
    parameters = {"metrics": ["mrr"], "date_range": JUNE}
    assert await workspace_client.refused("POST", "/metrics", parameters) == (503, "data_unverified")


async def test_plan_and_product_values_are_those_of_subscriptions(workspace_client):
    await save_subscription_facts(
        workspace_client, MONTHLY, replace(MONTHLY, subscription_id="sub_2", plan="basic", product_id="app")
    )
    june = {"start_date": "2026-06-01", "end_date": "2026-06-30"}
    for dimension, values in (("plan", ["basic", "pro"]), ("product", ["(not set)", "app"])):
        found = (await workspace_client.get("/dimension-values", dimension=dimension, **june))["values"]
        assert [(one["value"], one["count"]) for one in found] == [(value, 1) for value in values]
    await connect_revenue_provider(workspace_client, ConnectionStatus.DISCONNECTED)
    assert (await workspace_client.get("/dimension-values", dimension="plan", **june))["values"] == []


async def test_absurd_price_is_ignored(workspace_client):
    await save_subscription_facts(
        workspace_client,
        replace(MONTHLY, quantity=10**15),
        replace(MONTHLY, subscription_id="sub_2", interval_count=10**9),
        replace(MONTHLY, subscription_id="sub_3", interval=Interval.DAY, interval_count=1095),
        state_on_day(
            replace(MONTHLY, subscription_id="sub_3", interval=Interval.WEEK, interval_count=7),
            9,
            amount=10**12,
        ),
    )
    assert await metric_values(workspace_client, "active_subscriptions", "mrr") == [1, 6190476190.48]


@pytest.mark.parametrize(
    ("status", "mrr", "counts_as"),
    [("past_due", 10.0, "past_due"), ("trialing", 0, "trialing"), ("unpaid", 0, None)],
)
async def test_canceled_subscription_counts_until_it_ends(workspace_client, status, mrr, counts_as):
    ends = FIRST.replace(month=7, day=2)
    await save_subscription_facts(
        workspace_client,
        replace(MONTHLY, status=SubscriptionStatus(status), trial_ends_at=ends),
        state_on_day(MONTHLY, 9, status=SubscriptionStatus.CANCELED, ended_at=ends),
    )
    summary = (await workspace_client.get("/subscriptions", start_date="2026-06-01", end_date="2026-06-30"))[
        "summary"
    ]
    standing = {name: summary[name] for name in ("active", "past_due", "trialing")}
    assert summary["mrr"] == mrr
    assert standing == dict.fromkeys(standing, 0) | ({counts_as: 1} if counts_as else {})
