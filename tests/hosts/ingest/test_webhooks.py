"""Webhooks over sockets: each server hands on the bytes that were signed."""

import asyncio
import json

import pytest

from hosts.asgi_runner import bind_listener, listener_address, serve_until_shutdown
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.testing.durability_client import HttpConnection
from tests.commerce.providers.webhook_client import SECRET, open_webhook_client
from tests.hosts.http.conftest import SERVERS

MESSAGE = json.dumps(
    {"id": "evt_1", "created": 1_783_500_000, "livemode": True, "type": "customer.created",
     "data": {"object": {"id": "cus_ü", "object": "customer"}}},
    indent=2, ensure_ascii=False,
).encode()  # fmt: skip


@pytest.fixture(params=SERVERS)
async def host(request, tmp_path):
    """A client of webhooks, a connection to it, and the path of a workspace's webhooks."""
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        listener, stop = bind_listener("127.0.0.1:0"), asyncio.Event()
        serving = asyncio.create_task(serve_until_shutdown(webhook_client.app, listener, request.param, stop))
        connection = HttpConnection(listener_address(listener))
        yield webhook_client, shop, connection, f"/webhooks/stripe/{shop.workspace.public_id}"
        connection.close()
        stop.set()
        await serving


def signed_headers(webhook_client, body):
    stamp = str(int(webhook_client.served.now.timestamp()))
    return {"Stripe-Signature": f"t={stamp},v1={hmac_sha256(SECRET, f'{stamp}.'.encode() + body).hex()}"}


async def test_signed_webhook_body_arrives_unchanged_once(host):
    webhook_client, shop, connection, path = host
    proof = signed_headers(webhook_client, MESSAGE)
    reported = [await connection.post(path, MESSAGE, proof) for _ in range(2)]
    assert [(reply.status, reply.body) for reply in reported] == [
        (200, {"received": True, "duplicate": False}),
        (200, {"received": True, "duplicate": True}),
    ]
    assert {reply.headers["cache-control"] for reply in reported} == {"no-store"}
    changed = await connection.post(path, MESSAGE.replace(b"\n", b""), proof)
    assert (changed.status, changed.body) == (401, {"error": "Invalid signature"})
    (event,) = await webhook_client.events(shop)
    assert event["external_ids"] == {"stripe": "cus_ü"}


async def test_oversized_message_is_drained_and_the_next_is_accepted(host):
    webhook_client, _, connection, path = host
    assert (await connection.post(path, b" " * 1_000_001, {})).status == 413
    largest = MESSAGE + b" " * (1_000_000 - len(MESSAGE))
    assert (await connection.post(path, largest, signed_headers(webhook_client, largest))).status == 200
    assert (await connection.post(path, b"", {}, method="PUT")).status == 405
    assert (await connection.post(path + "/x", b"{}", {})).status == 404
