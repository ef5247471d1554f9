"""Whichever call of a webhook fails, the provider's next attempt leaves one event and one state."""

from itertools import count
from uuid import UUID

import orjson
import pytest

from hosts.ingest.webhooks import create_webhook_app
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.commerce.providers.message_store import MessageStore
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.unverified_messages import UnverifiedMessages
from service_core.commerce.providers.webhooks import WebhookHandler
from service_core.testing.fault_injection import fail_each_call, with_faults
from service_core.testing.ingestion_stubs import NOON
from tests.commerce.providers.test_webhooks import STARTED
from tests.commerce.providers.webhook_client import open_webhook_client
from tests.fixtures.stub_queues import StubIngestQueue


def client_with_faults(webhook_client, faults):
    """A client of webhooks whose stores fail."""
    ports, faults.error = webhook_client.ports, StoreUnavailable
    workspace = with_faults(ports.workspace, faults)
    webhooks = WebhookHandler(
        ports.registry.revenue_providers, WorkspaceCache(workspace.credentials), workspace.connections,
        EncryptedConnectionSecrets(workspace.encrypted_secrets, ports.secret_cipher),
        MessageStore(workspace.subscriptions, workspace.processed_messages, with_faults(ports.queue, faults), orjson.loads), with_faults(ports.queue, faults),
        ports.clock,
        UnverifiedMessages(EncryptedConnectionSecrets(workspace.encrypted_secrets, ports.secret_cipher), ports.secret_cipher, with_faults(ports.queue, faults)),
    )  # fmt: skip
    return create_webhook_app(webhooks, webhook_client.app)


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_retried_webhook_is_stored_once_whichever_call_fails(tmp_path, after):
    folders = count()

    async def run(faults):
        at, faults.call_number = faults.call_number, 0
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        async with open_webhook_client(folder) as webhook_client:
            shop = await webhook_client.connected_workspace()
            webhook_client.app = client_with_faults(webhook_client, faults)
            faults.fail_at_call(at, fail_after_effect=after)
            answers = [await webhook_client.stripe(shop, STARTED)]
            while answers[-1].status == 503:
                answers.append(await webhook_client.stripe(shop, STARTED))
            calls = list(faults.calls)
            faults.stop_faults()
            assert [answer.status for answer in answers[-1:]] == [200]
            assert len(answers) <= 2
            assert len(await webhook_client.events(shop)) == 1
            assert [state.subscription_id for state in await webhook_client.subscriptions(shop)] == ["sub_1"]
            row = await webhook_client.ledger(shop)
            assert row["stored"] == 1
        faults.calls = calls

    assert await fail_each_call(run, fail_after_effect=after) >= 5


@pytest.mark.parametrize(
    ("name", "value", "is_kept"),
    [
        ("x-forwarded-for", "203.0.113.7, 10.0.0.1", False),
        ("forwarded", 'for="[2001:db8::7]:4711";proto=https', False),
        ("x-client", "203.0.113.7:4711", False),
        ("stripe-signature", "t=1492774577,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd", True),
        ("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks) Chrome/120.0.0.0", True),
        ("date", "Wed, 01 Jul 2026 10:00:00 GMT", True),
    ],
)  # fmt: skip
async def test_message_of_a_missing_plugin_is_kept_without_headers_that_name_an_address(name, value, is_kept):
    class Cipher:
        def encrypt(self, text, _associated):
            self.headers = orjson.loads(text)
            return b"sealed"

    cipher = Cipher()
    messages = UnverifiedMessages(None, cipher, StubIngestQueue())
    delivery = WebhookDelivery({name: value, "host": "t.example"}, b"{}", NOON)
    await messages.enqueue_raw_within_hourly_limit(UUID(int=1), "gone", delivery)
    assert cipher.headers == {"host": "t.example"} | ({name: value} if is_kept else {})
