"""Answers of an earlier instant use the settings, spend, costs, rates and subscriptions of then."""

from dataclasses import replace
from datetime import datetime

import pytest

from tests.analytics.deployment import DEFAULT_RULES, run_deployment
from tests.analytics.history.past_shop import HOUR, Shop, next_afternoon
from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.commerce.costs.cost_data import item_cost, save_costs
from tests.commerce.fx.exchange_rate_data import save_rates
from tests.commerce.subscriptions.subscription_data import (
    CHARGE_PAYMENT,
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
)

METRICS = ("visitors", "revenue", "ad_spend", "roas", "cogs", "mrr", "active_subscriptions")
MONEY_READS = ("/ads", "/revenue", "/subscriptions", "/commerce-metrics")


@pytest.fixture
async def shop(tmp_path):
    """A workspace with facts of every store that reads over a range use, and an instant after them."""
    async with run_deployment("duckdb", tmp_path, rates="rates:///rates.csv") as served:
        served.now = next_afternoon()
        shop = await Shop.open(served)
        await connect_ad_platform(shop.owner, "meta", read=served.now)
        await connect_revenue_provider(shop.owner)
        await record_facts(shop, spend=1_00, unit_cost=2, rate="1.25")
        await save_subscription_facts(shop.owner, subscription(shop), payments=[charge(shop)])
        served.now += HOUR
        shop.moment = served.now.isoformat()
        yield shop


async def record_facts(shop, *, spend, unit_cost, rate):
    """The facts of a day, which replace those that were recorded before."""
    day, now = shop.noons[2][:10], shop.served.now
    spent = spend_row("meta", ad_campaign("c1", f"for {spend}"), day, currency="EUR", spend=spend)
    await save_spend(shop.owner, replace(spent, fetched_at=now))
    await save_costs(shop.owner, item_cost("A", unit_cost))
    await save_rates(shop.owner, {day: {"USD": rate}})


def subscription(shop, **fields):
    at = datetime.fromisoformat(f"{shop.noons[3]}:00+00:00")
    return replace(MONTHLY, at=at, started_at=at, **fields)


def charge(shop):
    return replace(CHARGE_PAYMENT, at=subscription(shop).at)


async def answers(shop, **as_of):
    query = await shop.query(*METRICS, interval="day", **as_of)
    reads = [await shop.owner.get(path, **shop.span, **as_of) for path in MONEY_READS]
    return [query, *reads, *await shop.answers(**as_of)]


async def restate_spend(shop):
    await record_facts(shop, spend=9_00, unit_cost=2, rate="1.25")


async def correct_rate(shop):
    await record_facts(shop, spend=1_00, unit_cost=2, rate="1.50")


async def correct_cost(shop):
    await record_facts(shop, spend=1_00, unit_cost=3, rate="1.25")


async def end_subscription(shop):
    ended = subscription(shop, message_id="m2", plan="basic")
    await save_subscription_facts(shop.owner, replace(ended, at=ended.at + HOUR, amount=400))


async def change_rules(shop):
    await shop.owner.follows(replace(DEFAULT_RULES, revenue_events=frozenset({"subscribe"})))


async def connect_another_platform(shop):
    await connect_ad_platform(shop.owner, "google")


async def remove_connection(shop):
    connections = shop.owner.service.ports.workspace.connections
    await connections.remove_connection_if_present(shop.owner.workspace.id, "stripe")


CHANGES = (
    restate_spend, correct_rate, end_subscription, change_rules, correct_cost,
    connect_another_platform, remove_connection,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_answers_before_a_change_are_given_again_byte_for_byte(shop, change):
    first = await answers(shop)
    shop.served.now += HOUR
    await change(shop)
    shop.served.now += HOUR
    assert await answers(shop) != first
    assert await answers(shop, as_of=shop.moment) == first


async def test_segment_is_the_one_of_the_instant(shop):
    created = await shop.owner.post(
        "/segments", {"segment": {"name": "U", "filters": [{"dimension": "event_name", "value": "purchase"}]}}
    )
    segment = created["data"]["id"]
    shop.served.now += HOUR
    as_of, first = shop.served.now.isoformat(), await shop.query("visitors", segment_id=segment)
    shop.served.now += HOUR
    changed = b'{"segment": {"filters": [{"dimension": "event_name", "value": "refund"}]}}'
    status, answer = await shop.owner.ask("PATCH", f"/segments/{segment}", body=changed)
    assert status == 200, answer
    assert await shop.query("visitors", segment_id=segment) != first
    assert await shop.query("visitors", segment_id=segment, as_of=as_of) == first
