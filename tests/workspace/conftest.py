"""A deployment with a link domain, and a client of its API."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from hosts.composition.compose import compose
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
SCOPES = {"reader": Scope.READ, "links": Scope.WRITE_LINKS, "scripts": Scope.PROPOSE_SCRIPTS}


class ApiResponse:
    def __init__(self, response):
        self.status, self.headers, self.bytes = response.status, response.headers, response.body
        self.json = json.loads(response.body)

    @property
    def refusal(self):
        """Status, code and field; a refusal of a write did nothing."""
        assert (self.json["dry_run"], self.json["applied"]) == (False, False), self.json
        return self.status, self.json.get("code"), self.json.get("field")


class WorkspaceApi:
    """Programs of two workspaces with keys of several scopes."""

    def __init__(self, folder, *, alarm=asyncio.sleep, registry=None, **sections):
        self.now = NOW
        settings = {"storage": {"events": "memory://"}, "links": {"domain": "go.example.com"}, **sections}
        http = {"root_url": "https://t.example", "app_url": "https://app.example"}
        settings["http"] = http | settings.get("http", {})
        self.service = compose(
            Settings.model_validate(settings), folder, clock=lambda: self.now, sleep=alarm, registry=registry
        )
        self.keys, self.workspaces = {}, {}

    async def open(self):
        store = self.service.ports.workspace
        for name in ("shop", "other"):
            initialized_deployment = await create_workspace_with_keys(store.credentials, NOW, name=name)
            self.workspaces[name] = initialized_deployment.workspace
            self.keys[name] = await self._key(initialized_deployment.workspace, "Campaign bot", list(Scope))
        return self

    async def secret(self, key):
        """The key of a workspace by its name, or by ``NAME LABEL`` one with the scope of the label, made when first used."""
        if key not in self.keys:
            name, label = key.split()
            self.keys[key] = await self._key(self.workspaces[name], label, {Scope.READ, SCOPES[label]})
        return self.keys[key]

    async def _key(self, workspace, name, scopes):
        store = self.service.ports.workspace
        minted = await create_named_key_clamping_rate_limit_to_plan(
            store.credentials, workspace, NOW, name=name, scopes=scopes, requested_rate_limit=10_000
        )
        return minted.secret

    def later(self, **passed):
        self.now += timedelta(**passed)

    async def ask(self, method, target, body=None, *, key="shop", once=None):
        self.later(minutes=1)  # a new minute has its whole budget
        return await self.send(method, target, body, key=key, once=once)

    async def send(self, method, target, body=None, *, key="shop", once=None):
        url = urlsplit(target)
        headers = {"authorization": f"Bearer {await self.secret(key)}"} | (
            {"idempotency-key": once} if once else {}
        )
        content = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, f"/v1{url.path}", url.query, headers, content)
        return ApiResponse(await self.service.dispatch(request))

    async def link(self, **fields):
        """An applied link."""
        wanted = {"name": "Spring reel", "destination_url": "https://example.com/a", **fields}
        made = await self.ask("POST", "/links", {"link": wanted})
        assert made.status == 200, made.json
        return made.json

    async def links(self):
        return (await self.ask("GET", "/links")).json["links"]


@pytest.fixture
async def workspace_api(tmp_path):
    made = WorkspaceApi(tmp_path)
    async with made.service:
        yield await made.open()


@pytest.fixture
async def api_without_link_domain(tmp_path):
    """A deployment without a link domain."""
    made = WorkspaceApi(tmp_path, links={"domain": ""})
    async with made.service:
        yield await made.open()
