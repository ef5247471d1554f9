"""Webhooks are sent to public addresses only."""

import asyncio

import pytest

from hosts.composition.webhook_client import HttpsWebhookClient
from service_core.delivery.notifications.signed_webhooks import WebhookUnavailable


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.8",
        "169.254.169.254",
        "192.168.1.1",
        "::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
    ],
)
async def test_name_of_a_private_address_is_not_connected_to(monkeypatch, address):
    connected = []

    async def resolve(host, port, **_):
        return [(None, None, None, "", (address, port))]

    async def connect(*args, **_):
        connected.append(args)
        raise OSError

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    monkeypatch.setattr(asyncio, "open_connection", connect)
    with pytest.raises(WebhookUnavailable, match="no public address"):
        await HttpsWebhookClient().post("https://hooks.example.com/", {}, b"{}")
    assert connected == []


async def test_connects_to_the_address_that_was_checked(monkeypatch):
    connected = []

    async def resolve(host, port, **_):
        return [(None, None, None, "", ("93.184.216.34", port))]

    async def connect(address, port, **options):
        connected.append((address, port, options["server_hostname"]))
        raise OSError

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    monkeypatch.setattr(asyncio, "open_connection", connect)
    with pytest.raises(WebhookUnavailable, match="cannot be reached"):
        await HttpsWebhookClient().post("https://hooks.example.com:8443/x", {}, b"{}")
    assert connected == [("93.184.216.34", 8443, "hooks.example.com")]
