"""Subscriptions in other currencies, told in that of the workspace."""

from dataclasses import replace

import pytest

from service_core.commerce.subscriptions.models import SubscriptionStatus
from tests.commerce.fx.exchange_rate_data import deployment_with_rates, save_rates
from tests.commerce.subscriptions.subscription_data import (
    CHARGE_PAYMENT,
    FIRST,
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
    state_on_day,
)
from tests.fixtures.compact_rows import rows_without_bucket_details

JUNE = {"from": "2026-06-01", "to": "2026-06-30"}
EUROS = replace(MONTHLY, currency="EUR")


@pytest.fixture
async def workspace_client(tmp_path):
    async with deployment_with_rates(tmp_path) as served:
        workspace_client = await served.workspace(timezone="UTC")
        await connect_revenue_provider(workspace_client)
        yield workspace_client


async def metric_values(workspace_client, *metrics, **fields):
    answer = await workspace_client.post("/metrics", {"metrics": list(metrics), "date_range": JUNE, **fields})
    return [one["unavailable_reason"] or one["value"] for one in answer["metrics"]]


async def mrr_movements(workspace_client):
    answer = await workspace_client.get("/subscriptions", start_date="2026-06-01", end_date="2026-06-30")
    return answer["summary"]["movements"]


async def test_mrr_uses_the_rate_of_the_end_and_movements_that_of_their_day(workspace_client):
    await save_rates(workspace_client, {f"2026-06-{day:02}": {"USD": f"1.{day:02}"} for day in range(1, 31)})
    dollars = replace(MONTHLY, subscription_id="sub_2")
    await save_subscription_facts(workspace_client, EUROS, state_on_day(EUROS, 10, amount=1500), dollars)
    names = "mrr", "arr", "mrr_new", "mrr_expansion", "active_subscriptions"
    assert await metric_values(workspace_client, *names) == [
        29.5,
        354.0,
        20.1,
        5.5,
        2,
    ]  # 15 x 1.30 + 10, 10 x 1.01 + 10, 5 x 1.10
    assert await mrr_movements(workspace_client) == {
        "start_mrr": 0.0, "new": 20.1, "expansion": 5.5, "contraction": 0.0, "churn": 0.0, "reactivation": 0.0,
        "fx": 3.9, "end_mrr": 29.5,
    }  # fmt: skip


async def test_existing_mrr_changes_by_the_exchange_rate(workspace_client):
    await save_rates(workspace_client, {"2026-05-31": {"USD": "1.10"}, "2026-06-30": {"USD": "1.20"}})
    await save_subscription_facts(
        workspace_client, replace(EUROS, at=FIRST.replace(month=5), started_at=FIRST.replace(month=5))
    )
    moved = await mrr_movements(workspace_client)
    assert (moved["start_mrr"], moved["fx"], moved["end_mrr"]) == (11.0, 1.0, 12.0)


async def test_charges_are_converted_by_the_rate_of_their_day(workspace_client):
    await save_rates(workspace_client, {"2026-06-01": {"USD": "1.10"}, "2026-06-09": {"USD": "1.20"}})
    first = replace(CHARGE_PAYMENT, currency="EUR")
    later = replace(first, message_id="c2", at=FIRST.replace(day=9))
    await save_subscription_facts(workspace_client, EUROS, payments=[first, later])
    assert await metric_values(workspace_client, "subscription_revenue") == [23.0]
    by_day = {"metrics": ["subscription_revenue", "mrr_new"], "date_range": JUNE, "interval": "day"}
    rows = rows_without_bucket_details(await workspace_client.post("/query", by_day | {"format": "compact"}))
    assert {row[0][:10]: row[1:] for row in rows if any(row[1:])} == {
        "2026-06-01": [11.0, 11.0], "2026-06-09": [12.0, 0],
    }  # fmt: skip


async def test_sum_with_a_missing_rate_is_null_and_others_are_not(workspace_client):
    await save_rates(workspace_client, {"2026-06-09": {"USD": "1.20"}})
    await save_subscription_facts(workspace_client, MONTHLY, replace(EUROS, subscription_id="sub_2"), state_on_day(replace(EUROS, subscription_id="sub_2"), 9,
        status=SubscriptionStatus.EXPIRED))  # fmt: skip
    names = "mrr", "mrr_new", "mrr_churn", "mrr_expansion", "new_subscriptions", "churned_subscriptions"
    assert await metric_values(workspace_client, *names) == [10.0, "missing_fx_rate", -12.0, 0, 2, 1]
    in_dollars = [{"dimension": "currency", "value": "USD"}]
    assert await metric_values(workspace_client, "mrr_new", filters=in_dollars) == [10.0]
