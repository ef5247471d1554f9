"""Whose a message of a provider is, and that nobody becomes somebody else by one."""

from datetime import timedelta

import pytest

from tests.commerce.providers.test_webhooks import PAYMENT, stripe_message
from tests.commerce.providers.webhook_client import open_webhook_client

SESSION = {
    "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": "paid", "amount_total": 5950,
    "currency": "eur", "payment_intent": "pi_1",
}  # fmt: skip


@pytest.fixture
async def webhook_client(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        yield webhook_client


@pytest.fixture
async def workspace_client(webhook_client):
    return await webhook_client.connected_workspace()


async def send_payment(webhook_client, workspace_client, id_="evt_1", **about):
    payment = {name: value for name, value in {**PAYMENT, **about}.items() if value is not None}
    return await webhook_client.stripe(
        workspace_client, stripe_message("payment_intent.succeeded", payment, id_)
    )


async def test_visitor_id_in_metadata_identifies_the_person(webhook_client, workspace_client):
    await webhook_client.track(workspace_client, "pageview", anonymous_id="A1")
    await send_payment(webhook_client, workspace_client, metadata={"visitor_id": "A1"})
    assert await webhook_client.person(workspace_client, "A1") == "v:A1"
    assert {event["visitor_id"] for event in await webhook_client.events(workspace_client)} == {"A1"}


async def test_user_id_of_the_provider_identifies_the_person(webhook_client, workspace_client):
    await send_payment(webhook_client, workspace_client, metadata={"user_id": "u_1"})
    await webhook_client.track(workspace_client, "pageview", anonymous_id="A1", user_id="u_1")
    assert (
        await webhook_client.person(workspace_client, "A1")
        == await webhook_client.person(workspace_client, "u_1")
        == "u:u_1"
    )
    assert {event["user_id"] for event in await webhook_client.events(workspace_client)} == {"u_1"}


async def test_later_external_id_matches_earlier_payments(webhook_client, workspace_client):
    await send_payment(webhook_client, workspace_client)
    assert await webhook_client.person(workspace_client, "stripe:cus_1") == "v:stripe:cus_1"
    webhook_client.served.now += timedelta(minutes=1)
    await webhook_client.track(
        workspace_client, "login", anonymous_id="A1", user_id="u_1", external_ids={"stripe": "cus_1"}
    )
    assert await webhook_client.person(workspace_client, "stripe:cus_1") == "u:u_1"


@pytest.mark.parametrize("name", ["session_id", "sessionId", "checkout_session_id"])
async def test_tracked_checkout_session_identifies_the_person(webhook_client, workspace_client, name):
    await webhook_client.track(
        workspace_client, "$stripe_checkout_session", {name: "cs_1"}, anonymous_id="A1", user_id="u_1"
    )
    await webhook_client.stripe(workspace_client, stripe_message("checkout.session.completed", SESSION))
    assert await webhook_client.person(workspace_client, "stripe:pi_1") == "u:u_1"


async def test_messages_of_one_payment_belong_to_one_person(webhook_client, workspace_client):
    await send_payment(webhook_client, workspace_client, customer=None)
    await webhook_client.stripe(
        workspace_client,
        stripe_message("checkout.session.completed", {**SESSION, "client_reference_id": "A1"}, "evt_2"),
    )
    await webhook_client.track(workspace_client, "login", anonymous_id="A1", user_id="u_1")
    assert await webhook_client.person(workspace_client, "stripe:pi_1") == "u:u_1"


async def test_unrelated_customers_are_separate_persons(webhook_client, workspace_client):
    """Two customers, two guests, and ids that are none: each is somebody of their own."""
    await send_payment(webhook_client, workspace_client, "evt_1")
    await send_payment(
        webhook_client,
        workspace_client,
        "evt_2",
        id="pi_2",
        customer="cus_2",
        metadata={"visitor_id": "null"},
    )
    await send_payment(webhook_client, workspace_client, "evt_3", id="pi_3", customer=None)
    await send_payment(
        webhook_client,
        workspace_client,
        "evt_4",
        id="pi_4",
        customer=None,
        metadata={"user_id": "undefined", "visitor_id": " "},
    )
    ids = ["stripe:cus_1", "stripe:cus_2", "stripe:pi_3", "stripe:pi_4"]
    assert [await webhook_client.person(workspace_client, id_) for id_ in ids] == [f"v:{id_}" for id_ in ids]


async def test_customer_id_of_two_users_merges_neither(webhook_client, workspace_client):
    for user in ("u_1", "u_2"):
        await webhook_client.track(workspace_client, "login", user_id=user, external_ids={"stripe": "cus_1"})
    await send_payment(webhook_client, workspace_client)
    people = [await webhook_client.person(workspace_client, id_) for id_ in ("u_1", "u_2", "stripe:cus_1")]
    assert people == ["u:u_1", "u:u_2", "v:stripe:cus_1"]


async def read_credited_sources(webhook_client, workspace_client):
    """Revenue by source, and that of nobody."""
    await webhook_client.drain()
    answer = await workspace_client.get(
        "/attribution", start_date="2026-07-01", end_date="2026-07-09", group_by="source"
    )
    rows = {row["attribution_source"]: row["revenue"] for row in answer["campaigns"] if row["revenue"]}
    return rows, answer["unattributed"]["revenue"]


async def test_unmatched_payment_counts_and_is_credited_after_a_match(webhook_client, workspace_client):
    await webhook_client.track(
        workspace_client,
        "pageview",
        {"utm_source": "news", "utm_medium": "email"},
        anonymous_id="A1",
        timestamp="2026-07-08T08:00:00Z",
    )
    await send_payment(webhook_client, workspace_client, currency="usd")
    assert await read_credited_sources(webhook_client, workspace_client) == ({}, 59.5)
    await webhook_client.track(
        workspace_client, "login", anonymous_id="A1", user_id="u_1", external_ids={"stripe": "cus_1"}
    )
    assert await read_credited_sources(webhook_client, workspace_client) == ({"news": 59.5}, 0)


async def test_later_email_match_credits_earlier_payments(webhook_client, workspace_client):
    brought = {"utm_source": "news", "utm_medium": "email"}
    await webhook_client.track(
        workspace_client, "pageview", brought, anonymous_id="A1", timestamp="2026-07-08T08:00:00Z"
    )
    await send_payment(
        webhook_client, workspace_client, currency="usd", customer=None, receipt_email="Ann@Shop.example"
    )
    assert await read_credited_sources(webhook_client, workspace_client) == ({}, 59.5)
    await webhook_client.track(
        workspace_client, "$identify", {"traits": {"email": "ann@shop.example"}}, anonymous_id="A1"
    )
    assert await read_credited_sources(webhook_client, workspace_client) == ({"news": 59.5}, 0)
    await webhook_client.track(
        workspace_client, "login", user_id="ann@shop.example"
    )  # now it may be somebody else's
    assert await read_credited_sources(webhook_client, workspace_client) == ({}, 59.5)


async def test_two_customers_on_one_device_stay_separate(webhook_client, workspace_client):
    """Each pays while logged in, and is billed again by the provider alone, when the other one is."""
    for number, user in enumerate(("u_1", "u_2"), start=1):
        webhook_client.served.now += timedelta(minutes=1)
        await webhook_client.track(workspace_client, "login", anonymous_id="A1", user_id=user)
        at = {"created": int(webhook_client.served.now.timestamp())}
        paid = {
            **PAYMENT,
            "id": f"pi_{number}",
            "customer": f"cus_{number}",
            "metadata": {"visitor_id": "A1"},
        }
        await webhook_client.stripe(
            workspace_client, {**stripe_message("payment_intent.succeeded", paid, f"evt_{number}"), **at}
        )
    for number in (1, 2):
        await send_payment(
            webhook_client, workspace_client, f"evt_1{number}", id=f"pi_1{number}", customer=f"cus_{number}"
        )
    people = [await webhook_client.person(workspace_client, f"stripe:cus_{number}") for number in (1, 2)]
    assert people == ["u:u_1", "u:u_2"]
