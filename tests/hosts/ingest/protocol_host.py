"""An ingest host with the consumer behind it, to which tests send requests of other products' clients."""

import asyncio
from dataclasses import replace

import pytest_asyncio

from hosts.ingest.run import create_ingest_host_app
from hosts.worker.consumer import build_ingest_pipeline
from service_core.access.api_keys import create_write_or_agent_key
from service_core.access.models import CredentialKind
from tests.analytics.deployment import run_deployment
from tests.hosts.ingest.recorded_segment import CHROME

TODAY = {"start_date": "2026-07-08", "end_date": "2026-07-08"}


class ProtocolDeployment:
    """The ingest host of a deployment, and the consumer behind it; building them takes seconds."""

    def __init__(self, served):
        self.served, self.ports = served, served.service.ports
        self.app = create_ingest_host_app(served.service.settings, self.ports)
        self.pipeline = build_ingest_pipeline(self.ports, served.service.settings)

    async def add_workspace(self):
        """Returns the host as a new workspace uses it."""
        client = await self.served.workspace(timezone="UTC")
        key = await create_write_or_agent_key(
            self.ports.workspace.credentials, client.workspace, CredentialKind.WRITE, self.served.now
        )
        return ProtocolHost(self, client, key.secret)


class ProtocolHost:
    """A workspace of the deployment."""

    def __init__(self, deployment, client, write_key):
        self.deployment, self.client, self.write_key = deployment, client, write_key
        self.public_id = client.workspace.public_id

    async def save(self, **changes):
        """Changes fields of the workspace."""
        changed = replace(self.client.workspace, **changes)
        await self.deployment.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(changed)

    async def send(self, recorded, *, origin="https://shop.example", headers=()):
        """Returns status, body and headers of the response."""
        messages = [{"type": "http.request", "body": recorded.body, "more_body": False}]
        written = []

        async def receive():
            return messages.pop()

        async def send(message):
            written.append(message)

        sent = {"host": "ingest", "user-agent": CHROME, **recorded.headers, **dict(headers)}
        sent |= {"origin": origin} if origin else {}
        scope = {
            "type": "http",
            "method": recorded.method,
            "path": recorded.path,
            "query_string": recorded.query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "client": ("203.0.113.7", 1),
        }
        await self.deployment.app(scope, receive, send)
        head = {name.decode(): value.decode() for name, value in written[0]["headers"]}
        return written[0]["status"], written[1]["body"], head

    async def events(self):
        """Returns the stored events, oldest first."""
        while await self.deployment.pipeline.process_batch():
            pass
        answer = await self.client.get("/events", **TODAY, limit=500)
        return sorted(answer["events"], key=lambda event: (event["timestamp"], event["event_id"]))

    async def ledger_totals(self, received):
        """Returns the ledger's totals, once so many events are counted."""
        async with asyncio.timeout(30):
            while True:
                answer = await self.client.get("/ledger", **TODAY)
                assert answer["balanced"]
                if answer["totals"]["received"] >= received:
                    return answer["totals"]
                await asyncio.sleep(0.01)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory):
    async with run_deployment("memory", tmp_path_factory.mktemp("protocols")) as served:
        yield ProtocolDeployment(served)


@pytest_asyncio.fixture(loop_scope="module")
async def host(deployment):
    return await deployment.add_workspace()
