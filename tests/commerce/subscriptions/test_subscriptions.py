"""`GET /subscriptions`: who subscribes, and what it comes to."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.analytics.connections.models import ConnectionStatus
from service_core.commerce.subscriptions.models import Interval, SubscriptionStatus
from service_core.commerce.subscriptions.round_to_total import round_changes_to_rounded_totals
from service_core.testing.event_builder import campaign_columns
from tests.analytics.deployment import STORES, run_deployment
from tests.commerce.subscriptions.subscription_data import (
    FIRST,
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
    state_on_day,
)

JUNE = {"start_date": "2026-06-01", "end_date": "2026-06-30"}


@pytest.fixture
async def workspace_client(request, tmp_path):
    async with run_deployment(getattr(request, "param", "memory"), tmp_path) as served:
        workspace_client = await served.workspace(timezone="UTC")
        await connect_revenue_provider(workspace_client)
        yield workspace_client


def numbered_subscription(number, **fields):
    return replace(MONTHLY, subscription_id=f"sub_{number}", **fields)


async def list_subscription_ids(workspace_client, **fields):
    return [
        one["id"]
        for one in (await workspace_client.get("/subscriptions", **(JUNE | fields)))["subscriptions"]
    ]


@pytest.mark.parametrize("workspace_client", STORES, indirect=True)
async def test_subscription_is_listed_as_of_the_end_with_its_acquisition_source(workspace_client):
    workspace_client.story.add_event(
        "page_view", at="2026-05-20T10:00", visitor="A1", **campaign_columns("google", "cpc", "spring")
    )
    workspace_client.story.add_event("$identify", at="2026-05-20T11:00", visitor="A1", strong_id="U1")
    await workspace_client.knows()
    paid = replace(
        MONTHLY,
        amount=6000,
        interval_count=6,
        quantity=2,
        product_id="app",
        trial_ends_at=FIRST + timedelta(days=7),
        current_period_end=FIRST + timedelta(days=180),
        identity=(("email", "a@example.com"), ("visitor_id", "A1")),
    )
    await save_subscription_facts(
        workspace_client,
        paid,
        state_on_day(paid, 10, cancel_at_period_end=True, canceled_at=FIRST + timedelta(days=9)),
    )
    (row,) = (await workspace_client.get("/subscriptions", **JUNE))["subscriptions"]
    assert row == {
        "id": "sub_1",
        "provider": "stripe",
        "status": "active",
        "plan": "pro",
        "product_id": "app",
        "amount": 120.0,
        "currency": "USD",
        "interval": "6 months",
        "mrr": 20.0,
        "started_at": "2026-06-01T12:00:00.000Z",
        "trial_ends_at": "2026-06-08T12:00:00.000Z",
        "current_period_end": "2026-11-28T12:00:00.000Z",
        "cancel_at_period_end": True,
        "canceled_at": "2026-06-10T12:00:00.000Z",
        "user_id": "U1",
        "attribution_source": "google",
        "utm_campaign": "spring",
    }
    (before,) = (
        await workspace_client.get("/subscriptions", start_date="2026-06-01", end_date="2026-06-09")
    )["subscriptions"]
    assert (before["cancel_at_period_end"], before["canceled_at"]) == (False, None)


async def test_unmatched_subscription_has_no_person(workspace_client):
    await save_subscription_facts(
        workspace_client, replace(MONTHLY, identity=(("visitor_id", "nobody"),)), numbered_subscription(2)
    )
    for row in (await workspace_client.get("/subscriptions", **JUNE))["subscriptions"]:
        assert (row["user_id"], row["attribution_source"], row["utm_campaign"]) == (None, None, None)


async def test_subscriptions_active_in_the_range_are_listed_newest_first(workspace_client):
    ended = {"status": SubscriptionStatus.EXPIRED}
    may, july = FIRST.replace(month=5, day=2), FIRST.replace(month=7, day=2)
    await save_subscription_facts(
        workspace_client,
        numbered_subscription(1),
        *(
            numbered_subscription(2, at=may, started_at=may),
            state_on_day(numbered_subscription(2, started_at=may), 3, **ended),
        ),
        *(
            numbered_subscription(3, at=may, started_at=may),
            numbered_subscription(3, message_id="end", at=may + timedelta(days=9), **ended),
        ),
        numbered_subscription(4, at=july, started_at=july),
        numbered_subscription(
            5,
            at=FIRST + timedelta(days=1),
            started_at=FIRST + timedelta(days=1),
            status=SubscriptionStatus.PAUSED,
        ),
        numbered_subscription(6, **ended),
    )
    assert await list_subscription_ids(workspace_client) == ["sub_5", "sub_1", "sub_2"]
    assert await list_subscription_ids(workspace_client, status="expired") == ["sub_2"]
    assert await list_subscription_ids(workspace_client, status="paused") == ["sub_5"]
    assert await list_subscription_ids(workspace_client, provider="shopify") == []
    assert await list_subscription_ids(workspace_client, start_date="2026-06-04", end_date="2026-06-30") == [
        "sub_5",
        "sub_1",
    ]
    assert await list_subscription_ids(workspace_client, **dict.fromkeys(JUNE, "")) == [
        "sub_4",
        "sub_5",
        "sub_1",
    ]


async def test_consecutive_pages_equal_one_large_page(workspace_client):
    starts = [FIRST + timedelta(hours=n // 2) for n in range(7)]
    await save_subscription_facts(
        workspace_client,
        *(numbered_subscription(n, at=start, started_at=start) for n, start in enumerate(starts)),
    )
    whole = await workspace_client.get("/subscriptions", **JUNE, limit=200)
    walked, cursor = [], None
    while cursor or not walked:
        page = await workspace_client.get(
            "/subscriptions", **JUNE, limit=3, **({"cursor": cursor} if cursor else {})
        )
        walked += page["subscriptions"]
        cursor = page["next_cursor"]
    assert walked == whole["subscriptions"]
    assert whole["next_cursor"] is None
    first = (await workspace_client.get("/subscriptions", **JUNE, limit=3))["next_cursor"]
    for other in ({"cursor": first}, {**JUNE, "limit": 3, "status": "active", "cursor": first}):
        assert await workspace_client.refused("GET", "/subscriptions", **other) == (400, "invalid_cursor")


async def test_summary_lists_mrr_movements(workspace_client):
    trial = numbered_subscription(4, status=SubscriptionStatus.TRIALING, amount=None)
    await save_subscription_facts(
        workspace_client,
        numbered_subscription(1, at=FIRST.replace(month=5)),
        *(
            numbered_subscription(2, at=FIRST.replace(month=5)),
            state_on_day(numbered_subscription(2), 9, status=SubscriptionStatus.EXPIRED),
        ),
        *(
            numbered_subscription(3),
            state_on_day(numbered_subscription(3), 9, status=SubscriptionStatus.PAST_DUE, amount=2500),
        ),
        trial,
    )
    answer = await workspace_client.get("/subscriptions", **JUNE)
    assert answer["summary"] == {
        "active": 1,
        "trialing": 1,
        "past_due": 1,
        "mrr": 35.0,
        "arr": 420.0,
        "new": 1,
        "canceled": 1,
        "churn_rate": 0.5,
        "trial_conversion_rate": None,
        "movements": {
            "start_mrr": 20.0,
            "new": 10.0,
            "expansion": 15.0,
            "contraction": 0.0,
            "churn": -10.0,
            "reactivation": 0.0,
            "fx": 0.0,
            "end_mrr": 35.0,
        },
    }
    assert (answer["currency"], answer["complete"]) == ("USD", True)
    unpriced = [{"metric": name, "reason": "insufficient_data"} for name in ("amount", "mrr")]
    assert answer["unavailable"] == unpriced  # of the trial
    assert answer["range"]["from"] == "2026-06-01T00:00:00.000Z"
    paid = (await workspace_client.get("/subscriptions", **JUNE, provider="revenuecat"))["summary"]
    assert (paid["mrr"], paid["active"], paid["churn_rate"]) == (0, 0, None)


async def test_summary_is_null_without_a_provider(workspace_client):
    await connect_revenue_provider(workspace_client, ConnectionStatus.ERROR)
    answer = await workspace_client.get("/subscriptions", **JUNE)
    moves = answer["summary"].pop("movements")
    assert set(answer["summary"].values()) == set(moves.values()) == {None}
    assert {one["reason"] for one in answer["unavailable"]} == {"source_error"}
    assert "mrr" in {one["metric"] for one in answer["unavailable"]}
    assert not answer["complete"]


async def test_foreign_currency_subscription_keeps_its_currency_and_makes_the_sum_null(workspace_client):
    await save_subscription_facts(workspace_client, MONTHLY, numbered_subscription(2, currency="JPY"))
    answer = await workspace_client.get("/subscriptions", **JUNE)
    assert {row["currency"]: row["mrr"] for row in answer["subscriptions"]} == {"USD": 10.0, "JPY": 1000.0}
    summary = answer["summary"]
    assert (summary["mrr"], summary["active"], summary["movements"]["fx"]) == (None, 2, None)
    assert {"metric": "mrr", "reason": "missing_fx_rate"} in answer["unavailable"]


async def test_rounded_movements_add_up(workspace_client):
    weekly = replace(MONTHLY, interval=Interval.WEEK)
    may = FIRST.replace(month=5)
    await save_subscription_facts(
        workspace_client, replace(weekly, at=may), replace(weekly, subscription_id="sub_2")
    )
    moves = (await workspace_client.get("/subscriptions", **JUNE))["summary"]["movements"]
    assert (moves["start_mrr"], moves["new"], moves["end_mrr"]) == (43.33, 43.34, 86.67)


async def test_filter_on_an_unknown_provider_is_refused(workspace_client):
    assert await workspace_client.refused("GET", "/subscriptions", status="dead") == (
        400,
        "invalid_parameter",
    )
    assert (await workspace_client.refused("GET", "/subscriptions", start_date="2026-06-01"))[0] == 400


@pytest.mark.parametrize(
    ("start", "end", "closed"),
    [("1/2", "3/2", [2]), ("3/2", "5/2", [0]), ("5/2", "7/2", [2]), ("1/2", "5/2", [2])],
)
def test_halves_at_both_ends_round_to_even(start, end, closed):
    start, end = Fraction(start), Fraction(end)
    assert round_changes_to_rounded_totals(start, [end - start], end) == closed


@given(
    start=st.fractions(0, 1000, max_denominator=24),
    moves=st.lists(st.fractions(-1000, 1000, max_denominator=24), min_size=1, max_size=5),
)
def test_rounding_of_movements_closes_the_balance_within_one_unit(start, moves):
    end = start + sum(moves, Fraction(0))
    closed = round_changes_to_rounded_totals(start, moves, end)
    assert round(start) + sum(closed) == round(end)
    assert all(abs(whole - move) < 2 for whole, move in zip(closed, moves, strict=True))
    assert all(whole == 0 for whole, move in zip(closed, moves, strict=True) if move == 0)
