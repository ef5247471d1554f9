"""A composed deployment with its pages and the OAuth routes, and people who use it without a browser."""

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urlencode

import pytest
from jinja2 import FileSystemBytecodeCache

from hosts.client_address import ClientAddress
from hosts.composition.compose import Service, compose, installed
from hosts.composition.ports import running
from hosts.http.app import quart_app
from hosts.mcp.app import mcp
from hosts.oauth.app import oauth
from hosts.web.pages import pages
from service_core.access.keys import Founded, found_workspace
from service_core.access.members.enrol import enrol
from service_core.access.ports import LimiterDown
from service_core.access.roles import Role
from service_core.access.windows import FixedWindows
from service_core.extension.adapters import Adapter
from service_core.kernel.settings import Settings
from service_core.testing.dns import WrittenRecords

PASSWORD = "a good long password"
NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)


class HandClock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now

    def advance(self, **parts):
        self.now += timedelta(**parts)


class Letterbox:
    def __init__(self):
        self.letters = []

    async def send(self, message):
        self.letters.append(message)


class PlainPasswords:
    async def hash(self, password):
        return f"plain:{password}"

    async def verify(self, hashed, password):
        return hashed == f"plain:{password}"


class HandLimiter:
    """Counts by the hand clock; `down` takes it away."""

    def __init__(self, clock):
        self.windows = FixedWindows(clock)
        self.down = False

    async def spend(self, key, limit, window_seconds):
        if self.down:
            raise LimiterDown
        return self.windows.spend(key, limit, window_seconds)


COMPILED = FileSystemBytecodeCache()
"""Templates are compiled once, and not for each application of a test."""


class Doubles:
    """Mail that is kept, passwords that cost nothing, limits by the hand clock, a DNS to write into."""

    def __init__(self, clock):
        self.letterbox = Letterbox()
        self.limiter = HandLimiter(clock)
        self.records = WrittenRecords()

    def among(self, registry):
        """What is installed, and these."""
        brought = {(adapter.port, adapter.scheme): adapter for adapter in self.adapters()}
        return replace(registry, adapters=registry.adapters | brought)

    def adapters(self):
        return (
            Adapter(port="mail", scheme="kept", open=lambda _: self.letterbox),
            Adapter(port="passwords", scheme="plain", open=lambda _: PlainPasswords()),
            Adapter(port="limits", scheme="hand", open=lambda _: self.limiter),
            Adapter(port="dns", scheme="written", open=lambda _: self.records),
        )


class Answer:
    def __init__(self, response, body):
        self.status = response.status_code
        self.headers = response.headers
        self.body = body

    @property
    def location(self):
        return self.headers.get("Location")

    @property
    def text(self):
        """What a reader sees: no tags, no entities."""
        return unescape(re.sub(r"<[^>]+>", " ", self.body))


class Person:
    """A browser without a screen: keeps cookies and fills in forms as they stand on a page."""

    def __init__(self, deployment):
        self.deployment = deployment
        self.client = deployment.app.test_client()

    async def get(self, path, **headers):
        response = await self.client.get(path, headers=headers)
        return Answer(response, await response.get_data(as_text=True))

    async def post(self, path, fields=(), **headers):
        response = await self.client.post(path, form=dict(fields), headers=headers)
        return Answer(response, await response.get_data(as_text=True))

    async def send(self, page, path, /, **fields):
        """Send a form that stands on a page."""
        return await self.post(path, {"csrf": await self.token(page), **fields})

    async def token(self, page):
        found = re.search(r'name="csrf" value="([^"]+)"', (await self.get(page)).body)
        assert found, f"{page} has no form"
        return found.group(1)

    async def sign_in(self, email, password=PASSWORD):
        answer = await self.send("/app/sign-in", "/app/sign-in", email=email, password=password)
        assert answer.status == 303, answer.text
        return self


@dataclass
class Deployment:
    service: Service
    app: object
    clock: HandClock
    letters: list
    founded: Founded
    other: Founded
    people: dict = field(default_factory=dict)

    @property
    def store(self):
        return self.service.ports.workspace

    @property
    def workspace(self):
        return self.founded.workspace

    @property
    def settings(self):
        return f"/app/w/{self.workspace.public_id}"

    def person(self):
        return Person(self)

    async def enrol(self, name, role, founded=None):
        """Somebody with a password: ``ann`` is ann@example.com."""
        email, workspace = f"{name}@example.com", (founded or self.founded).workspace
        enrolled = await enrol(
            self.store, self.store, workspace, email=email, role=Role(role), now=self.clock()
        )
        if enrolled.token is not None:
            answer = await self.person().send(
                "/app/password?token=x", "/app/password", token=enrolled.token, password=PASSWORD
            )
            assert answer.status == 303, answer.text
        return enrolled.account

    async def signed_in(self, name, role):
        await self.enrol(name, role)
        return await self.person().sign_in(f"{name}@example.com")

    async def api(self, method, path, key, body=None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        sent = {} if body is None else {"json": body}
        response = await self.app.test_client().open(path, method=method, headers=headers, **sent)
        return response.status_code, await response.get_json()

    async def asked(self, *scopes, name="Helper key", **more):
        """A request for a key: the path of its page, and the id to poll."""
        body = {"name": name, "scopes": list(scopes or ["service:read"]), **more}
        status, said = await self.api("POST", "/v1/keys/requests", self.founded.agent_key.secret, body)
        assert status == 202, said
        return said["approval_url"].partition("/app")[2], said["request_id"]


def built(folder, *, clock, settings=None):
    """A composed deployment that is not started, and where its mail goes."""
    doubles = Doubles(clock)
    stood_in = {
        "mail": {"outbox": "kept://"},
        "accounts": {"passwords": "plain://"},
        "limits": {"store": "hand://"},
        "links": {"domain": "go.example.com", "dns": "written://"},
    }
    wanted = Settings.model_validate(stood_in | (settings or {}))
    service = compose(wanted, folder, registry=doubles.among(installed()), clock=clock)
    return service, doubles.letterbox.letters


def application(service):
    addresses = ClientAddress()
    shown = [pages(service, addresses), oauth(service, addresses), mcp(service, addresses)]
    app = quart_app(service.dispatch, addresses, shown)
    app.jinja_options = app.jinja_options | {"bytecode_cache": COMPILED}
    return app


@asynccontextmanager
async def standing(folder, settings=None):
    """A deployment with two workspaces."""
    clock = HandClock()
    service, letters = built(folder, clock=clock, settings=settings)
    async with running([service.ports.workspace]):
        store = service.ports.workspace
        shop = await found_workspace(store, NOW, name="Example Shop")
        other = await found_workspace(store, NOW, name="Other Shop")
        yield Deployment(service, application(service), clock, letters, shop, other)


@pytest.fixture
async def deployment(tmp_path):
    async with standing(tmp_path) as deployment:
        yield deployment


def query(**parameters):
    return urlencode({name: value for name, value in parameters.items() if value is not None})
