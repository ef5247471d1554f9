"""Messages about app stores through a whole deployment: connected, sent, kept, asked for."""

import json
from datetime import timedelta

import pytest

from service_core.commerce.subscriptions.models import SubscriptionStatus
from tests.commerce.providers.webhook_client import open_webhook_client

PASSWORD = "Bearer planted_in_a_test"


@pytest.fixture
async def webhook_client(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        yield webhook_client


@pytest.fixture
async def workspace_client(webhook_client):
    client = await webhook_client.served.workspace(timezone="UTC", currency="USD")
    await webhook_client.connect(client, "revenuecat", secret=PASSWORD)
    return client


async def send_revenuecat_message(
    webhook_client, workspace_client, kind, day, *, password=PASSWORD, **fields
):
    at = webhook_client.served.now - timedelta(days=7 - day)
    stamp = int(at.timestamp() * 1000)
    event = {
        "id": f"{kind}-{day}", "type": kind, "event_timestamp_ms": stamp, "purchased_at_ms": stamp,
        "expiration_at_ms": stamp + 30 * 86_400_000, "original_transaction_id": "1000",
        "transaction_id": f"100{day}", "product_id": "pro_monthly", "entitlement_ids": ["pro"],
        "period_type": "NORMAL", "environment": "PRODUCTION", "currency": "USD", "price": 0,
        "price_in_purchased_currency": 0, "app_user_id": "ann", "original_app_user_id": "ann",
        "subscriber_attributes": {"touchpoint_id": {"value": "visitor-7"}}, **fields,
    }  # fmt: skip
    body = json.dumps({"api_version": "1.0", "event": event}).encode()
    path = f"/webhooks/revenuecat/{workspace_client.workspace.public_id}"
    return await webhook_client.post(path, body, [("authorization", password)])


PAID = {"price": 9.99, "price_in_purchased_currency": 9.99}


async def test_subscription_lifecycle_from_trial_to_refund(webhook_client, workspace_client):
    trial = {"period_type": "TRIAL"}
    refund = {
        "price": -9.99, "price_in_purchased_currency": -9.99, "cancel_reason": "CUSTOMER_SUPPORT",
        "transaction_id": "1002", "expiration_at_ms": 1,
    }  # fmt: skip
    await send_revenuecat_message(webhook_client, workspace_client, "INITIAL_PURCHASE", 0, **trial)
    (state,) = await webhook_client.subscriptions(workspace_client)
    assert (state.status, state.amount) == (SubscriptionStatus.TRIALING, None)
    await send_revenuecat_message(
        webhook_client, workspace_client, "RENEWAL", 2, is_trial_conversion=True, **PAID
    )
    await send_revenuecat_message(
        webhook_client, workspace_client, "CANCELLATION", 4, cancel_reason="UNSUBSCRIBE"
    )
    (state,) = await webhook_client.subscriptions(workspace_client)
    assert (state.status, state.amount, state.currency) == (SubscriptionStatus.ACTIVE, 999, "USD")
    assert (state.cancel_at_period_end, state.product_id, state.plan) == (True, "pro_monthly", "pro")
    await send_revenuecat_message(webhook_client, workspace_client, "CANCELLATION", 5, **refund)
    assert [event["event_name"] for event in await webhook_client.events(workspace_client)] == [
        "subscription_cancelled", "subscription_cancelled", "trial_converted", "trial_started",
    ]  # fmt: skip
    days = {"start_date": "2026-07-01", "end_date": "2026-07-08"}
    (revenuecat, *_) = (await workspace_client.get("/revenue", **days))["platforms"]
    assert revenuecat["platform"] == "revenuecat"
    assert (revenuecat["revenue"], revenuecat["refunds"], revenuecat["net_revenue"]) == (9.99, 9.99, 0)


async def test_visitor_id_in_attributes_identifies_the_customer(webhook_client, workspace_client):
    assert (await send_revenuecat_message(webhook_client, workspace_client, "RENEWAL", 2, **PAID)).json == {
        "received": True,
        "duplicate": False,
    }
    assert (await send_revenuecat_message(webhook_client, workspace_client, "RENEWAL", 2, **PAID)).json[
        "duplicate"
    ]
    (event,) = await webhook_client.events(workspace_client)
    assert (event["event_id"], event["source"]) == ("revenuecat_RENEWAL-2", "revenuecat")
    assert (event["visitor_id"], event["user_id"]) == ("visitor-7", "ann")
    assert (event["revenue"], event["order_id"]) == (9.99, "1002")


async def test_users_sharing_a_device_keep_separate_subscriptions(webhook_client, workspace_client):
    bob = {"app_user_id": "bob", "original_app_user_id": "bob", "original_transaction_id": "2000"}
    await send_revenuecat_message(webhook_client, workspace_client, "RENEWAL", 2, **PAID)
    await send_revenuecat_message(webhook_client, workspace_client, "RENEWAL", 3, **bob, **PAID)
    await webhook_client.drain()
    answer = await workspace_client.get("/subscriptions", start_date="2026-07-01", end_date="2026-07-08")
    assert {one["id"]: one["user_id"] for one in answer["subscriptions"]} == {"1000": "ann", "2000": "bob"}


async def test_wrong_password_is_refused_and_test_messages_are_stored(webhook_client, workspace_client):
    assert (
        await send_revenuecat_message(webhook_client, workspace_client, "RENEWAL", 2, password="Bearer other")
    ).status == 401
    assert (await send_revenuecat_message(webhook_client, workspace_client, "TEST", 2)).status == 200
    assert await webhook_client.events(workspace_client) == []
