"""`POST /webhooks/{provider}/{workspace}`: what is answered, and what becomes of a message."""

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter

import pytest

from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import StoreUnavailable
from service_core.ingestion.ports import EnqueueFailed
from tests.commerce.providers.webhook_client import SECRET, open_webhook_client

TAKEN = (200, {"received": True, "duplicate": False})
REPEATED = (200, {"received": True, "duplicate": True})
FORGED = (401, {"error": "Invalid signature"})
NOT_FOUND = (404, {"error": "Not found"})
PAYMENT = {
    "id": "pi_1", "object": "payment_intent", "amount_received": 5950, "currency": "eur", "customer": "cus_1",
    "metadata": {},
}  # fmt: skip
SUBSCRIPTION = {
    "id": "sub_1", "object": "subscription", "status": "active", "currency": "usd", "customer": "cus_1",
    "start_date": 1_783_000_000, "items": {"data": [{"price": {
        "id": "price_1", "unit_amount": 1200, "recurring": {"interval": "month", "interval_count": 1},
    }, "quantity": 3}]},
}  # fmt: skip


def message(kind, about, id_="evt_1", *, live=True):
    return {"id": id_, "created": 1_783_500_000, "livemode": live, "type": kind, "data": {"object": about}}


PAID = message("payment_intent.succeeded", PAYMENT)
STARTED = message("customer.subscription.created", SUBSCRIPTION, "evt_2")


@pytest.fixture
async def door(tmp_path):
    async with open_webhook_client(tmp_path) as door:
        yield door


@pytest.fixture
async def shop(door):
    return await door.connected_workspace()


def told(answer):
    return answer.status, answer.json


async def test_a_message_becomes_an_event_of_its_provider(door, shop):
    assert told(await door.stripe(shop, PAID)) == TAKEN
    (event,) = await door.events(shop)
    assert (event["event_id"], event["event_name"], event["source"]) == ("stripe_evt_1", "purchase", "stripe")
    assert (event["revenue"], event["currency"], event["order_id"]) == (59.5, "EUR", "pi_1")
    assert (event["visitor_id"], event["user_id"]) == ("stripe:cus_1", None)
    assert event["external_ids"] == {"stripe": "cus_1", "stripe_payment": "pi_1"}
    assert (event["is_bot"], event["is_test"], event["browser"], event["country"]) == (
        False,
        False,
        None,
        None,
    )
    row = await door.ledger(shop)
    assert (row["received"], row["stored"], row["duplicate"], row["rejected"]) == (1, 1, 0, 0)


async def test_a_test_of_the_provider_is_a_test(door, shop):
    await door.stripe(shop, {**PAID, "livemode": False})
    (event,) = await door.events(shop)
    assert event["is_test"]


async def test_twenty_repeats_at_once_are_one_event_and_one_state(door, shop):
    answers = await asyncio.gather(*(door.stripe(shop, STARTED) for _ in range(20)))
    assert Counter(answer.json["duplicate"] for answer in answers) == {True: 19, False: 1}
    assert {answer.status for answer in answers} == {200}
    assert len(await door.events(shop)) == 1
    assert [state.subscription_id for state in await door.subscriptions(shop)] == ["sub_1"]
    row = await door.ledger(shop, received=20)
    assert (row["received"], row["stored"], row["duplicate"]) == (20, 1, 19)


async def test_what_is_forged_old_or_cut_is_counted_and_leaves_nothing(door, shop):
    body = b'{"id": "evt_1"'
    assert told(await door.stripe(shop, PAID, secret="whsec_other")) == FORGED
    assert told(await door.stripe(shop, PAID, sent=door.served.now - timedelta(seconds=301))) == FORGED
    path = f"/webhooks/stripe/{shop.workspace.public_id}"
    assert told(await door.post(path, body)) == FORGED
    assert await door.events(shop) == []
    row = await door.ledger(shop, received=3)
    assert (row["received"], row["rejected_by_reason"]) == (3, {"invalid_signature": 3})
    assert (await door.connection(shop)).last_synced_at is None


async def test_nobody_listens_where_nothing_is_connected(door, shop):
    stranger = await door.served.workspace()
    left = await door.connected_workspace()
    await door.connect(left, status=ConnectionStatus.DISCONNECTED)
    ended = await door.connected_workspace()
    await ended.changes(active=False)
    for client in (stranger, left, ended):
        assert told(await door.stripe(client, PAID)) == NOT_FOUND
    for path in (
        f"/webhooks/nobody/{shop.workspace.public_id}", "/webhooks/stripe/nobody", "/webhooks/stripe",
        f"/webhooks/stripe/{shop.workspace.public_id}/more", f"/webhooks/shopify/{shop.workspace.public_id}",
    ):  # fmt: skip
        assert told(await door.post(path, b"{}")) == NOT_FOUND


async def test_a_connection_without_a_secret_takes_nothing(door, shop):
    await door.ports.connection_secrets.save_secrets(shop.workspace.id, "stripe", {})
    assert told(await door.stripe(shop, PAID, secret="")) == FORGED


async def test_other_methods_and_bodies_too_large_are_refused(door, shop):
    path = f"/webhooks/stripe/{shop.workspace.public_id}"
    refused = await door.post(path, b"", method="GET")
    assert (told(refused), refused.headers["allow"]) == ((405, {"error": "Method not allowed"}), "POST")
    assert told(await door.stripe(shop, None, body=b"{" + b" " * 1_000_000)) == (
        413, {"error": "Payload too large. Maximum size is 1MB."},
    )  # fmt: skip
    assert (await door.ledger(shop))["rejected_by_reason"] == {"too_large": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"id":"evt_9","created":1783500000,"type":"payout.paid"}', "ValueError: stripe: a kind of message that becomes no event"),
        (b'{"id":"evt_9","type":"payout.paid"}', "ValueError: stripe: created is missing"),
        (b'{"event":"purchase","user_id":"u_1"}', "ValueError: stripe: created is missing"),
        (b"[]", "ValueError: stripe: the message is no JSON object"),
    ],
)  # fmt: skip
async def test_what_becomes_no_event_is_kept_as_it_came(door, shop, body, reason):
    answers = [told(await door.stripe(shop, None, body=body)) for _ in range(2)]
    assert answers == [TAKEN, REPEATED]
    assert await door.events(shop) == []
    (kept,) = await door.ports.queue.list_quarantined(shop.workspace.id, 10)
    assert (kept.queued.arrival.body, kept.reason) == (body, reason)
    row = await door.ledger(shop, received=2)
    assert (row["quarantined"], row["duplicate"]) == (1, 1)


async def test_a_body_that_is_no_json_is_kept_as_it_came(door, shop):
    assert told(await door.stripe(shop, None, body=b'{"id"')) == TAKEN
    await door.drain()
    (kept,) = await door.ports.queue.list_quarantined(shop.workspace.id, 10)
    assert kept.queued.arrival.body == b'{"id"'


async def failing(fault, *_, **__):
    raise fault


@pytest.mark.parametrize(
    ("port", "method", "fault"),
    [
        ("queue", "offer_all", EnqueueFailed("queue", OSError("disk full"))),
        ("workspace.subscriptions", "add_subscription_reports", StoreUnavailable()),
        ("workspace.connections", "list_connections", StoreUnavailable()),
        ("workspace.encrypted_secrets", "encrypted_secrets", StoreUnavailable()),
    ],
)
async def test_while_a_store_is_away_the_provider_is_asked_to_come_again(
    door, shop, monkeypatch, port, method, fault
):
    with monkeypatch.context() as patch:
        patch.setattr(attrgetter(port)(door.ports), method, lambda *_: failing(fault))
        refused = await door.stripe(shop, STARTED)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert [told(await door.stripe(shop, STARTED)) for _ in range(2)] == [TAKEN, REPEATED]
    assert len(await door.events(shop)) == 1
    assert [state.subscription_id for state in await door.subscriptions(shop)] == ["sub_1"]


async def test_a_connection_knows_of_its_last_message_once_a_minute(door, shop):
    await door.connect(shop, status=ConnectionStatus.PENDING)
    seen = []
    for seconds in (0, 59, 1, 61):
        door.served.now += timedelta(seconds=seconds)
        await door.stripe(shop, PAID)
        seen.append((await door.connection(shop)).last_synced_at)
    assert [moment - seen[0] for moment in seen] == [timedelta(seconds=n) for n in (0, 0, 60, 121)]
    assert (await door.connection(shop)).status is ConnectionStatus.CONNECTED


async def test_a_message_is_taken_though_its_connection_cannot_be_told(door, shop, monkeypatch):
    monkeypatch.setattr(
        door.ports.workspace.connections, "mark_synced", lambda *_: failing(StoreUnavailable())
    )
    assert told(await door.stripe(shop, PAID)) == TAKEN


async def test_two_workspaces_share_neither_secrets_nor_ids(door, shop):
    other = await door.connected_workspace()
    await door.connect(other, secret="whsec_of_another")
    assert told(await door.stripe(other, PAID)) == FORGED
    assert told(await door.stripe(other, PAID, secret="whsec_of_another")) == TAKEN
    assert told(await door.stripe(shop, PAID)) == TAKEN
    assert [len(await door.events(client)) for client in (shop, other)] == [1, 1]


async def test_no_secret_and_no_signature_is_ever_told(door, shop, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    answers = [await door.stripe(shop, PAID), await door.stripe(shop, PAID, secret="whsec_guess")]
    monkeypatch.setattr(
        door.ports.queue, "offer_all", lambda *_: failing(EnqueueFailed("queue", OSError("full")))
    )
    answers.append(await door.stripe(shop, STARTED))
    said = caplog.text + repr(answers)
    assert "a message of stripe is not kept" in said
    for planted in (SECRET, "whsec_guess", "v1="):
        assert planted not in said


async def test_a_fault_of_a_provider_is_told_by_its_id_and_keeps_nothing(door, shop, monkeypatch):
    provider = door.ports.registry.revenue_providers["stripe"]
    monkeypatch.setattr(type(provider), "map_message", lambda *_: {}["bug"])
    answer = await door.stripe(shop, PAID)
    assert (answer.status, answer.json["error"]) == (500, "Internal server error")
    assert await door.events(shop) == []
    monkeypatch.undo()
    assert told(await door.stripe(shop, PAID)) == TAKEN


async def test_a_state_knows_its_person_by_the_ids_of_the_event(door, shop):
    await door.stripe(shop, STARTED)
    (state,) = await door.subscriptions(shop)
    assert state.identity == (("visitor_id", "stripe:cus_1"),)


async def test_a_subscription_stays_one_whatever_is_noted_of_accounts(door, shop):
    await door.stripe(shop, STARTED)
    connection = await door.connection(shop)
    await door.ports.workspace.connections.save_connection(replace(connection, accounts=()))
    await door.stripe(shop, {**STARTED, "id": "evt_3", "type": "customer.subscription.updated"})
    assert len(await door.subscriptions(shop)) == 1
