"""`POST /webhooks/{provider}/{workspace}`: what is answered, and what becomes of a message."""

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter

import pytest

from hosts.ingest.run import create_ingest_host_app
from hosts.worker.consumer import build_ingest_pipeline
from service_core.analytics.connections.models import ConnectionStatus, ProviderKind
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.providers import unverified_messages
from service_core.ingestion.ports import EnqueueFailed
from tests.commerce.providers.webhook_client import SECRET, open_webhook_client

ACCEPTED_RESPONSE = (200, {"received": True, "duplicate": False})
REPEATED = (200, {"received": True, "duplicate": True})
FORGED_RESPONSE = (401, {"error": "Invalid signature"})
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


def stripe_message(kind, about, id_="evt_1", *, live=True):
    return {"id": id_, "created": 1_783_500_000, "livemode": live, "type": kind, "data": {"object": about}}


PAID = stripe_message("payment_intent.succeeded", PAYMENT)
STARTED = stripe_message("customer.subscription.created", SUBSCRIPTION, "evt_2")


@pytest.fixture
async def webhook_client(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        yield webhook_client


@pytest.fixture
async def workspace_client(webhook_client):
    return await webhook_client.connected_workspace()


def response_code(answer):
    return answer.status, answer.json


async def test_message_becomes_an_event_of_its_provider(webhook_client, workspace_client):
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE
    (event,) = await webhook_client.events(workspace_client)
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
    row = await webhook_client.ledger(workspace_client)
    assert (row["received"], row["stored"], row["duplicate"], row["rejected"]) == (1, 1, 0, 0)


async def test_unsupported_encoding_is_refused_and_counted(webhook_client, workspace_client):
    path = f"/webhooks/stripe/{workspace_client.workspace.public_id}"
    answer = await webhook_client.post(path, b"x", [("content-encoding", "br")])
    assert (answer.status, answer.json) == (415, {"error": "Unsupported content encoding"})
    row = await webhook_client.ledger(workspace_client)
    assert (row["rejected"], row["rejected_by_reason"]) == (1, {"unsupported_encoding": 1})
    nobody = await webhook_client.post("/webhooks/stripe/nobody", b"x", [("content-encoding", "br")])
    assert nobody.status == 404


async def test_provider_message_with_unusable_parts_is_counted(webhook_client, workspace_client):
    paid = {**PAID, "data": {"object": {**PAID["data"]["object"], "metadata": {"order_id": "o" * 300}}}}
    await webhook_client.stripe(workspace_client, paid)
    await webhook_client.events(workspace_client)
    row = await webhook_client.ledger(workspace_client)
    assert (row["stored"], row["ignored_by_reason"]) == (1, {"id_cut": 1})


async def test_test_mode_message_becomes_a_test_event(webhook_client, workspace_client):
    await webhook_client.stripe(workspace_client, {**PAID, "livemode": False})
    (event,) = await webhook_client.events(workspace_client)
    assert event["is_test"]


async def test_twenty_concurrent_repeats_store_one_event_and_one_state(webhook_client, workspace_client):
    answers = await asyncio.gather(*(webhook_client.stripe(workspace_client, STARTED) for _ in range(20)))
    assert Counter(answer.json["duplicate"] for answer in answers) == {True: 19, False: 1}
    assert {answer.status for answer in answers} == {200}
    assert len(await webhook_client.events(workspace_client)) == 1
    assert [state.subscription_id for state in await webhook_client.subscriptions(workspace_client)] == [
        "sub_1"
    ]
    row = await webhook_client.ledger(workspace_client, received=20)
    assert (row["received"], row["stored"], row["duplicate"]) == (20, 1, 19)


async def test_forged_old_or_truncated_messages_are_counted_and_not_stored(webhook_client, workspace_client):
    body = b'{"id": "evt_1"'
    assert (
        response_code(await webhook_client.stripe(workspace_client, PAID, secret="whsec_other"))
        == FORGED_RESPONSE
    )
    assert (
        response_code(
            await webhook_client.stripe(
                workspace_client, PAID, sent=webhook_client.served.now - timedelta(seconds=301)
            )
        )
        == FORGED_RESPONSE
    )
    path = f"/webhooks/stripe/{workspace_client.workspace.public_id}"
    assert response_code(await webhook_client.post(path, body)) == FORGED_RESPONSE
    assert await webhook_client.events(workspace_client) == []
    row = await webhook_client.ledger(workspace_client, received=3)
    assert (row["received"], row["rejected_by_reason"]) == (3, {"invalid_signature": 3})
    assert (await webhook_client.connection(workspace_client)).last_synced_at is None


async def test_webhook_without_a_connection_is_not_found(webhook_client, workspace_client):
    stranger = await webhook_client.served.workspace()
    left = await webhook_client.connected_workspace()
    await webhook_client.connect(left, status=ConnectionStatus.DISCONNECTED)
    ended = await webhook_client.connected_workspace()
    await ended.changes(active=False)
    for client in (stranger, left, ended):
        assert response_code(await webhook_client.stripe(client, PAID)) == NOT_FOUND
    for path in (
        f"/webhooks/nobody/{workspace_client.workspace.public_id}", "/webhooks/stripe/nobody", "/webhooks/stripe",
        f"/webhooks/stripe/{workspace_client.workspace.public_id}/more", f"/webhooks/shopify/{workspace_client.workspace.public_id}",
    ):  # fmt: skip
        assert response_code(await webhook_client.post(path, b"{}")) == NOT_FOUND


async def test_connection_without_a_secret_refuses_webhooks(webhook_client, workspace_client):
    await webhook_client.ports.connection_secrets.replace_or_delete_secrets(
        workspace_client.workspace.id, "stripe", {}
    )
    assert response_code(await webhook_client.stripe(workspace_client, PAID, secret="")) == FORGED_RESPONSE


async def test_other_methods_and_bodies_too_large_are_refused(webhook_client, workspace_client):
    path = f"/webhooks/stripe/{workspace_client.workspace.public_id}"
    refused = await webhook_client.post(path, b"", method="GET")
    assert (response_code(refused), refused.headers["allow"]) == (
        (405, {"error": "Method not allowed"}),
        "POST",
    )
    assert response_code(await webhook_client.stripe(workspace_client, None, body=b"{" + b" " * 1_000_000)) == (
        413, {"error": "Payload too large. Maximum size is 1MB."},
    )  # fmt: skip
    assert (await webhook_client.ledger(workspace_client))["rejected_by_reason"] == {"too_large": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"id":"evt_9","created":1783500000,"type":"payout.paid"}', "ValueError: stripe: a kind of message that becomes no event"),
        (b'{"id":"evt_9","type":"payout.paid"}', "ValueError: stripe: created is missing"),
        (b'{"event":"purchase","user_id":"u_1"}', "ValueError: stripe: created is missing"),
        (b"[]", "ValueError: stripe: the message is no JSON object"),
    ],
)  # fmt: skip
async def test_unmapped_message_is_stored_raw(webhook_client, workspace_client, body, reason):
    answers = [
        response_code(await webhook_client.stripe(workspace_client, None, body=body)) for _ in range(2)
    ]
    assert answers == [ACCEPTED_RESPONSE, REPEATED]
    assert await webhook_client.events(workspace_client) == []
    (kept,) = await webhook_client.ports.queue.list_quarantined(workspace_client.workspace.id, 10)
    assert (kept.queued.arrival.body, kept.reason) == (body, reason)
    row = await webhook_client.ledger(workspace_client, received=2)
    assert (row["quarantined"], row["duplicate"]) == (1, 1)


async def test_body_without_json_is_stored_raw(webhook_client, workspace_client):
    assert (
        response_code(await webhook_client.stripe(workspace_client, None, body=b'{"id"')) == ACCEPTED_RESPONSE
    )
    await webhook_client.drain()
    (kept,) = await webhook_client.ports.queue.list_quarantined(workspace_client.workspace.id, 10)
    assert kept.queued.arrival.body == b'{"id"'


async def raise_fault(fault, *_, **__):
    raise fault


@pytest.mark.parametrize(
    ("port", "method", "fault"),
    [
        ("queue", "offer_all", EnqueueFailed("queue", OSError("disk full"))),
        ("workspace.subscriptions", "add_new_subscription_reports", StoreUnavailable()),
        ("workspace.connections", "list_connections_oldest_first", StoreUnavailable()),
        ("workspace.encrypted_secrets", "encrypted_secrets", StoreUnavailable()),
    ],
)
async def test_unavailable_store_returns_503(
    webhook_client, workspace_client, monkeypatch, port, method, fault
):
    with monkeypatch.context() as patch:
        patch.setattr(attrgetter(port)(webhook_client.ports), method, lambda *_: raise_fault(fault))
        refused = await webhook_client.stripe(workspace_client, STARTED)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert [response_code(await webhook_client.stripe(workspace_client, STARTED)) for _ in range(2)] == [
        ACCEPTED_RESPONSE,
        REPEATED,
    ]
    assert len(await webhook_client.events(workspace_client)) == 1
    assert [state.subscription_id for state in await webhook_client.subscriptions(workspace_client)] == [
        "sub_1"
    ]


async def test_last_message_time_is_updated_once_a_minute(webhook_client, workspace_client):
    await webhook_client.connect(workspace_client, status=ConnectionStatus.PENDING)
    seen = []
    for seconds in (0, 59, 1, 61):
        webhook_client.served.now += timedelta(seconds=seconds)
        await webhook_client.stripe(workspace_client, PAID)
        seen.append((await webhook_client.connection(workspace_client)).last_synced_at)
    assert [moment - seen[0] for moment in seen] == [timedelta(seconds=n) for n in (0, 0, 60, 121)]
    assert (await webhook_client.connection(workspace_client)).status is ConnectionStatus.CONNECTED


async def test_message_is_stored_when_the_connection_update_fails(
    webhook_client, workspace_client, monkeypatch
):
    monkeypatch.setattr(
        webhook_client.ports.workspace.connections,
        "mark_synced_unless_synced_later",
        lambda *_: raise_fault(StoreUnavailable()),
    )
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE


async def test_two_workspaces_share_neither_secrets_nor_ids(webhook_client, workspace_client):
    other = await webhook_client.connected_workspace()
    await webhook_client.connect(other, secret="whsec_of_another")
    assert response_code(await webhook_client.stripe(other, PAID)) == FORGED_RESPONSE
    assert (
        response_code(await webhook_client.stripe(other, PAID, secret="whsec_of_another"))
        == ACCEPTED_RESPONSE
    )
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE
    assert [len(await webhook_client.events(client)) for client in (workspace_client, other)] == [1, 1]


async def test_secrets_and_signatures_are_never_logged_or_returned(
    webhook_client, workspace_client, monkeypatch, caplog
):
    caplog.set_level(logging.DEBUG)
    answers = [
        await webhook_client.stripe(workspace_client, PAID),
        await webhook_client.stripe(workspace_client, PAID, secret="whsec_guess"),
    ]
    monkeypatch.setattr(
        webhook_client.ports.queue,
        "offer_all",
        lambda *_: raise_fault(EnqueueFailed("queue", OSError("full"))),
    )
    answers.append(await webhook_client.stripe(workspace_client, STARTED))
    result = caplog.text + repr(answers)
    assert "a message of stripe is not kept" in result
    for planted in (SECRET, "whsec_guess", "v1="):
        assert planted not in result


async def test_message_the_plugin_raises_on_is_stored_raw_and_accepted_again_after_the_fix(
    webhook_client, workspace_client, monkeypatch
):
    provider = webhook_client.ports.registry.revenue_providers["stripe"]
    monkeypatch.setattr(type(provider), "map_message", lambda *_: {}["bug"])
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE
    assert await webhook_client.events(workspace_client) == []
    (kept,) = await webhook_client.ports.queue.list_quarantined(workspace_client.workspace.id, 10)
    assert kept.reason == "ValueError: stripe: the plugin failed with KeyError"
    monkeypatch.undo()
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE
    assert await webhook_client.ports.queue.replay(workspace_client.workspace.id) == 1
    assert len(await webhook_client.events(workspace_client)) == 1


@pytest.fixture
def without_stripe(webhook_client):
    """Takes the plugin of Stripe out of the deployment; a call installs it again."""
    providers = dict(webhook_client.ports.registry.revenue_providers)
    stripe = providers.pop("stripe")

    def reload(revenue_providers):
        ports = webhook_client.ports
        ports.registry = replace(ports.registry, revenue_providers=revenue_providers)
        webhook_client.app = create_ingest_host_app(webhook_client.served.service.settings, ports)
        webhook_client.pipeline = build_ingest_pipeline(ports, webhook_client.served.service.settings)

    reload(providers)
    return lambda: reload({**providers, "stripe": stripe})


async def test_messages_of_a_missing_plugin_are_kept_and_the_genuine_one_is_stored_by_a_replay(
    webhook_client, workspace_client, without_stripe
):
    answers = [
        await webhook_client.stripe(workspace_client, PAID),
        await webhook_client.stripe(workspace_client, PAID),
        await webhook_client.stripe(workspace_client, PAID, secret="whsec_guess"),
    ]
    assert [response_code(answer) for answer in answers] == [ACCEPTED_RESPONSE, REPEATED, ACCEPTED_RESPONSE]
    assert await webhook_client.events(workspace_client) == []
    queue, workspace_id = webhook_client.ports.queue, workspace_client.workspace.id
    kept = await queue.list_quarantined(workspace_id, 10)
    assert [row.reason for row in kept] == ["ValueError: stripe: its plugin is not installed"] * 2
    assert "v1=" not in str(kept)
    row = await webhook_client.ledger(workspace_client, received=3)
    assert (row["quarantined"], row["duplicate"]) == (2, 1)
    assert await queue.replay(workspace_id) == 2
    assert await webhook_client.events(workspace_client) == []
    without_stripe()
    webhook_client.served.now += timedelta(days=3)
    assert await queue.replay(workspace_id) == 2
    (event,) = await webhook_client.events(workspace_client)
    assert event["source"] == "stripe"
    (refused,) = await queue.list_quarantined(workspace_id, 10)
    assert refused.reason == "ValueError: stripe: the signature is not valid"


@pytest.mark.parametrize(("limit", "value"), [("MAX_KEPT_PER_HOUR", 1), ("MAX_KEPT_BYTES_PER_HOUR", 500)])
async def test_messages_of_a_missing_plugin_beyond_an_hourly_limit_are_to_be_sent_again(
    webhook_client, workspace_client, without_stripe, monkeypatch, limit, value
):
    monkeypatch.setattr(unverified_messages, limit, value)
    answers = [await webhook_client.stripe(workspace_client, {**PAID, "id": f"evt_{n}"}) for n in range(2)]
    assert [answer.status for answer in answers] == [200, 503]
    row = await webhook_client.ledger(workspace_client, received=2)
    assert (row["quarantined"], row["rejected_by_reason"]) == (1, {"enqueue_failed": 1})
    webhook_client.served.now += timedelta(hours=1)
    assert (await webhook_client.stripe(workspace_client, {**PAID, "id": "evt_1"})).status == 200


async def test_message_of_a_missing_plugin_is_unknown_without_a_live_connection_of_a_revenue_provider(
    webhook_client, workspace_client, without_stripe
):
    connection = await webhook_client.connection(workspace_client)
    connections = webhook_client.ports.workspace.connections
    for changed in (
        replace(connection, kind=ProviderKind.ADS),
        replace(connection, status=ConnectionStatus.DISCONNECTED),
    ):
        await connections.save_connection_keeping_created_at(changed)
        assert (await webhook_client.stripe(workspace_client, PAID)).status == 404


async def test_reason_of_a_plugin_is_stored_without_characters_that_stores_refuse_and_cut(
    webhook_client, workspace_client, monkeypatch
):
    provider = webhook_client.ports.registry.revenue_providers["stripe"]

    def refuse(*_):
        raise ValueError("plan 'a\0b\ud800' is " + "very " * 100 + "unknown")

    monkeypatch.setattr(type(provider), "map_message", refuse)
    assert response_code(await webhook_client.stripe(workspace_client, PAID)) == ACCEPTED_RESPONSE
    assert await webhook_client.events(workspace_client) == []
    (kept,) = await webhook_client.ports.queue.list_quarantined(workspace_client.workspace.id, 10)
    reason = kept.reason.removeprefix("ValueError: ")
    assert reason.startswith("stripe: plan 'a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}' is very")
    assert len(reason) == 200


async def test_subscription_state_has_the_person_ids_of_its_event(webhook_client, workspace_client):
    await webhook_client.stripe(workspace_client, STARTED)
    (state,) = await webhook_client.subscriptions(workspace_client)
    assert state.identity == (("visitor_id", "stripe:cus_1"),)


async def test_subscription_is_one_when_account_ids_change(webhook_client, workspace_client):
    await webhook_client.stripe(workspace_client, STARTED)
    connection = await webhook_client.connection(workspace_client)
    await webhook_client.ports.workspace.connections.save_connection_keeping_created_at(
        replace(connection, accounts=())
    )
    await webhook_client.stripe(
        workspace_client, {**STARTED, "id": "evt_3", "type": "customer.subscription.updated"}
    )
    assert len(await webhook_client.subscriptions(workspace_client)) == 1


async def test_amount_limit_is_the_same_for_messages_and_events_and_is_counted(
    webhook_client, workspace_client
):
    largest = 10**17 - 1  # cents: one below 1e15 dollars
    for number, amount in enumerate((largest, largest + 1)):
        payment = PAYMENT | {"id": f"pi_{number}", "amount_received": amount, "currency": "usd"}
        message = stripe_message("payment_intent.succeeded", payment, f"evt_{number}")
        assert response_code(await webhook_client.stripe(workspace_client, message)) == ACCEPTED_RESPONSE
        value = f"{amount // 100}.{amount % 100:02d}"
        await webhook_client.track(
            workspace_client, "purchase", {"value": value, "currency": "USD"}, user_id=f"u{number}"
        )
    events = await webhook_client.events(workspace_client)
    kept = sorted(
        (event["source"] == "stripe", event["revenue"]) for event in events if event["revenue"] is not None
    )
    assert kept == [(False, 1e15), (True, 1e15)]  # as JSON writes the nearest fraction
    answer = await workspace_client.get("/ledger", start_date="2026-07-08", end_date="2026-07-08")
    assert [row["ignored_by_reason"] for row in answer["rows"]] == [{"money_ignored": 1}] * 2
