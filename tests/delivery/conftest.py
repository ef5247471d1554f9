"""A deployment in a folder with a clock that can be turned, and a worker that works when it is told to."""

import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from urllib.parse import urlsplit

import pytest

from hosts.composition.compose import compose
from hosts.worker.exports import build_export_worker
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.http_messages import ApiRequest
from service_core.kernel.settings import Settings
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.api_response import ApiResponse

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
JULY = {"start_date": "2026-07-01", "end_date": "2026-07-07"}


class ExportClient:
    """A client of the API, and the hands of its operator."""

    def __init__(self, folder, events, more_settings=None, registry=None):
        self.folder = folder
        self.now = NOW
        settings = Settings.model_validate(
            {"storage": {"events": events}, "http": {"root_url": "https://t.example"}} | (more_settings or {})
        )
        self.service = compose(settings, folder, clock=lambda: self.now, registry=registry)
        self.exporter = build_export_worker(self.service.ports)
        self.keys = {}
        self.workspaces = {}

    async def found(self, name, **columns):
        made = await create_workspace_with_keys(
            self.service.ports.workspace.credentials, NOW, name=name, **columns
        )
        self.keys[name], self.workspaces[name] = made.agent_key.secret, made.workspace

    def story(self, name="shop"):
        return EventBuilder(self.workspaces[name].id)

    async def keep(self, story):
        await self.service.ports.events.append(story.events)

    async def some_events(self, count=5):
        story = self.story()
        for minute in range(count):
            story.add_event("x", at=f"2026-07-03T10:{minute:02}", visitor=f"A{minute}")
        await self.keep(story)

    async def ask(self, method, target, body=None, *, key="shop", headers=None):
        url = urlsplit(target)
        sent = {**({"authorization": f"Bearer {self.keys[key]}"} if key else {}), **(headers or {})}
        content = b"" if body is None else json.dumps(body).encode()
        response = await self.service.dispatch(ApiRequest(method, url.path, url.query, sent, content))
        if response.open_stream is None:
            return ApiResponse(response)
        return ApiResponse(response, b"".join([chunk async for chunk in response.open_stream()]))

    async def order(self, kind="events", *, key="shop", headers=None, **more):
        return await self.ask("POST", "/v1/exports", {"type": kind, **JULY, **more}, key=key, headers=headers)

    async def export(self, kind="events", *, key="shop", **more):
        """Ask, let the worker work, and poll."""
        ordered = await self.order(kind, key=key, **more)
        assert ordered.status == 202, ordered.json
        while await self.exporter.run_next_job():
            pass
        return await self.polled(ordered, key=key)

    async def polled(self, ordered, *, key="shop"):
        """The job of an answer that accepted it, as it stands now."""
        return (await self.ask("GET", ordered.json["poll_url"], key=key)).json

    async def rows(self, kind="events", form="ndjson", **more):
        """The rows of a finished export as they stand in its file."""
        job = await self.export(kind, format=form, **more)
        assert job["status"] == "completed", job
        content = (await self.ask("GET", job["download"]["url"], key=None)).body.decode()
        if form == "ndjson":
            rows = [json.loads(line) for line in content.split("\n")[:-1]]
        else:
            rows = list(csv.DictReader(StringIO(content, newline="")))
        assert len(rows) == job["row_count"]
        return rows

    def later(self, **passed):
        self.now += timedelta(**passed)

    @property
    def files(self):
        return sorted(path.name for path in (self.folder / "exports").iterdir())


@pytest.fixture(params=["memory://", "duckdb:///events.db?timeout_seconds=300"])
async def api_client(request, tmp_path):
    async for made in open_export_client(tmp_path, request.param):
        yield made


@pytest.fixture
async def memory_api_client(tmp_path):
    """A desk for what does not depend on the store of events."""
    async for made in open_export_client(tmp_path, "memory://"):
        yield made


async def open_export_client(folder, events):
    api_client = ExportClient(folder, events)
    async with api_client.service:
        await api_client.found("shop", timezone="America/New_York")
        await api_client.found("other")
        yield api_client
