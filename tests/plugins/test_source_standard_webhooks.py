"""The conformance kit on the built-in webhook source, and a message from its endpoint to the event."""

import base64
import json
from datetime import timedelta

import pytest

from plugins.source_standard_webhooks.adapter import StandardWebhooks
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.webhook_sources import SourceWithoutMoney
from service_core.plugin import hmac_sha256
from service_core.testing.ingestion_stubs import NOON
from service_core.testing.revenue_provider import ProviderHarness, Sample
from service_core.testing.webhook_source import WebhookSourceConformance
from tests.analytics.deployment import NOW, run_deployment
from tests.commerce.providers.webhook_client import WebhookClient

KEY = b"0123456789abcdef01234567"
SECRETS = {"webhook_secret": "whsec_" + base64.b64encode(KEY).decode()}
OPENED = {
    "type": "email.opened",
    "timestamp": "2026-07-01T11:59:00Z",
    "data": {"email_id": "m1", "to": ["ada@shop.example"], "subject": "Spring", "user_id": "u1"},
}
FILLED = {
    "type": "form.filled",
    "timestamp": "2026-07-01T11:58:00+00:00",
    "data": {"form": "contact", "email": "ada@shop.example", "amount": 30},
}
BOUGHT = {"type": "purchase", "timestamp": "2026-07-01T11:57:00Z", "data": {"amount": 30}}


def sign(body, secrets, at, prefix="webhook"):
    key = base64.b64decode(secrets["webhook_secret"].removeprefix("whsec_"))
    id_, stamp = f"msg_{len(body)}_{sum(body)}", str(int(at.timestamp()))
    digest = hmac_sha256(key, f"{id_}.{stamp}.".encode() + body)
    signature = "v1," + base64.b64encode(digest).decode()
    return {f"{prefix}-id": id_, f"{prefix}-timestamp": stamp, f"{prefix}-signature": signature}


class TestStandardWebhooks(WebhookSourceConformance):
    @pytest.fixture
    def harness(self):
        return ProviderHarness(
            SourceWithoutMoney(StandardWebhooks()),
            SECRETS,
            sign,
            samples=(Sample(OPENED, "email_opened"), Sample(FILLED, "form_filled")),
            unknown=Sample(BOUGHT, None),
        )

    def test_headers_of_svix_are_verified(self, harness):
        body = json.dumps(OPENED).encode()
        delivery = WebhookDelivery(sign(body, SECRETS, NOON, "svix"), body, NOON)
        assert harness.provider.verify_signature(delivery, SECRETS)
        assert harness.provider.map_message(OPENED, delivery, "a").message_id.startswith("msg_")

    @pytest.mark.parametrize("secret", ["whsec_", "whsec_%%%", "no base64", ""])
    def test_secret_that_cannot_be_decoded_verifies_nothing(self, harness, secret):
        delivery = harness.make_delivery(harness.samples[0])
        assert not harness.provider.verify_signature(delivery, {"webhook_secret": secret})


async def test_webhook_becomes_an_event_without_money_and_is_stored_once(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        host, client = WebhookClient(served), await served.workspace(timezone="UTC")
        connection = Connection(
            client.workspace.id, "standard_webhooks", ProviderKind.EVENTS, ConnectionStatus.CONNECTED, NOW
        )
        await host.ports.workspace.connections.save_connection_keeping_created_at(connection)
        await host.ports.connection_secrets.replace_or_delete_secrets(
            client.workspace.id, "standard_webhooks", SECRETS
        )
        path = f"/webhooks/standard_webhooks/{client.workspace.public_id}"
        filled = FILLED | {"timestamp": NOW.isoformat()}

        async def send(message, signed_at=NOW):
            body = json.dumps(message).encode()
            return await host.post(path, body, list(sign(body, SECRETS, signed_at).items()))

        answers = [await send(filled), await send(filled), await send(BOUGHT), await send({"data": {}})]
        assert [(answer.status, answer.json["duplicate"]) for answer in answers] == [
            (200, False), (200, True), (200, False), (200, False),
        ]  # fmt: skip
        assert (await send(filled, NOW - timedelta(hours=1))).status == 401
        await host.drain()
        (event,) = await host.events(client)
        assert (event["event_name"], event["source"], event["revenue"]) == (
            "form_filled",
            "standard_webhooks",
            None,
        )
        assert event["event_data"] == {"form": "contact", "email": "ada@shop.example", "sent_amount": 30}
        kept = await host.ports.queue.list_quarantined(client.workspace.id, 9)
        assert len(kept) == 2
        overview = await client.get("/overview", start_date="2026-07-08", end_date="2026-07-08")
        assert overview["complete"]
