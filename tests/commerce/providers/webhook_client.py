"""A deployment whose ingest host takes webhooks, without sockets: messages in, answers and events out."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from hosts.ingest.run import create_ingest_host_app
from hosts.worker.consumer import build_ingest_pipeline
from service_core.analytics.connections.models import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.commerce.subscriptions.ports import SubscriptionPage
from service_core.testing.ingestion_stubs import make_queued_event
from tests.analytics.deployment import NOW, run_deployment
from tests.fixtures.waiting import GUARD_SECONDS

SECRET = "whsec_planted_in_a_test"


@dataclass
class WebhookResponse:
    status: int
    headers: dict
    json: dict


class WebhookClient:
    """The ingest host of a deployment, and the consumer behind it."""

    def __init__(self, served):
        self.served, self.ports = served, served.service.ports
        self.app = create_ingest_host_app(served.service.settings, self.ports)
        self.pipeline = build_ingest_pipeline(self.ports, served.service.settings)

    async def connected_workspace(self, **fields):
        """A workspace that has connected Stripe."""
        client = await self.served.workspace(timezone="UTC", **fields)
        await self.connect(client)
        return client

    async def connect(self, client, provider="stripe", status=ConnectionStatus.CONNECTED, secret=SECRET):
        connection = Connection(
            client.workspace.id, provider, ProviderKind.REVENUE, status, NOW, (ConnectedAccount("acct_1"),)
        )
        await self.ports.workspace.connections.save_connection_keeping_created_at(connection)
        await self.ports.connection_secrets.replace_or_delete_secrets(
            client.workspace.id, provider, {"webhook_secret": secret}
        )
        return connection

    async def connection(self, client):
        (found,) = await self.ports.workspace.connections.list_connections_oldest_first(client.workspace.id)
        return found

    async def post(self, path, body, headers=(), *, method="POST"):
        sent = [{"type": "http.request", "body": body, "more_body": False}]
        out = []

        async def receive():
            return sent.pop()

        async def send(message):
            out.append(message)

        raw = [(b"host", b"ingest"), *((name.encode(), value.encode()) for name, value in headers)]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": ("127.0.0.1", 1)}
        await self.app(scope, receive, send)
        values = {name.decode(): value.decode() for name, value in out[0]["headers"]}
        return WebhookResponse(out[0]["status"], values, json.loads(out[1]["body"]))

    async def stripe(self, client, message, *, secret=SECRET, body=None, sent=None):
        """Send a message as Stripe does."""
        content = json.dumps(message).encode() if body is None else body
        stamp = str(int((sent or self.served.now).timestamp()))
        digest = hmac_sha256(secret, f"{stamp}.".encode() + content).hex()
        path = f"/webhooks/stripe/{client.workspace.public_id}"
        return await self.post(path, content, [("stripe-signature", f"t={stamp},v1={digest}")])

    async def drain(self):
        while await self.pipeline.process_batch():
            pass

    async def events(self, client):
        """Every event of the workspace, the latest first."""
        await self.drain()
        return (await client.get("/events", start_date="2026-07-01", end_date="2026-07-08", limit=200))[
            "events"
        ]

    async def ledger(self, client, received=1):
        """The row of webhooks with so many messages; what was refused or known is written within a second."""
        await self.drain()
        async with asyncio.timeout(GUARD_SECONDS):
            rows = await self._ledger(client)
            while sum(row["received"] for row in rows) < received:
                await asyncio.sleep(0.02)
                rows = await self._ledger(client)
        (row,) = rows
        assert row["key_id"] == str(client.workspace.id)
        return row

    async def _ledger(self, client):
        answer = await client.get("/ledger", start_date="2026-07-08", end_date="2026-07-08")
        assert answer["balanced"]
        return [row for row in answer["rows"] if row["channel"] == "webhook"]

    async def subscriptions(self, client):
        """Every subscription as it was told last."""
        end = self.served.now + timedelta(days=1)
        page = SubscriptionPage(client.workspace.id, end - timedelta(days=30), end, 100)
        return [stance.state for stance in await self.ports.workspace.subscriptions.list_subscriptions(page)]

    async def person(self, client, id_):
        """Whose events an id leads to."""
        await self.drain()
        return await self.ports.events.find_person_of_any_id(client.workspace.id, id_)

    async def track(self, client, event_name, properties=None, sent=None, **fields):
        """An event of the site or its server; ``sent`` are other fields of its arrival."""
        arrived = {"event_id": str(uuid4()), "received_at": self.served.now, **(sent or {})}
        body = json.dumps({"event": event_name, "properties": properties or {}, **fields}).encode()
        await self.ports.queue.offer(
            make_queued_event(body, workspace_id=client.workspace.id, **arrived).arrival
        )


@asynccontextmanager
async def open_webhook_client(folder, registry=None):
    async with run_deployment("memory", folder, registry) as served:
        yield WebhookClient(served)
