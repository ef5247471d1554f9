"""A link host on a real socket, beside the API that makes its links."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from hosts.asgi_runner import bind_listener, listener_address, serve_until_shutdown
from hosts.client_address import ClientAddressResolver
from hosts.edge.app import create_edge_app
from hosts.edge.redirect_dependencies import redirect_dependencies
from tests.fixtures.waiting import GUARD_SECONDS
from tests.workspace.conftest import WorkspaceApi

CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1"
PIXEL = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
PROXIES = {"trusted_proxies": ["127.0.0.1"]}


@dataclass
class EdgeResponse:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def location(self):
        assert self.status == 302
        return self.headers["location"]


class EdgeClient:
    """Requests to a link host; each is a connection of its own."""

    def __init__(self, workspace_api, address, dependencies=None):
        self.office, self.dependencies = workspace_api, dependencies
        self.host, _, port = address.rpartition(":")
        self.port = int(port)

    async def follow(
        self, path, *, agent=CHROME, method="GET", host="go.example.com", client=None, body=b"", **headers
    ):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"User-Agent: {agent}"] * (agent is not None)
        lines += [f"X-Forwarded-For: {client}"] * (client is not None)
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        async with asyncio.timeout(GUARD_SECONDS):
            head, _, content = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        first, *rest = head.decode("latin-1").split("\r\n")
        named = dict(line.split(": ", 1) for line in rest)
        return EdgeResponse(
            int(first.split()[1]), {name.lower(): text for name, text in named.items()}, content
        )

    async def clicks(self, link_id=None):
        """Clicks and unique clicks of a link, the newest one without an id."""
        links = (await self.office.send("GET", "/links")).json["links"]
        link = next(link for link in links if link_id in (None, link["id"]))
        return link["clicks"], link["unique_clicks"]

    async def wait_for_counts(self, clicks, unique_clicks, link_id=None):
        """Whether a link comes to so many clicks: a redirect need not have waited for its own."""
        async with asyncio.timeout(GUARD_SECONDS):
            while await self.clicks(link_id) != (clicks, unique_clicks):
                await asyncio.sleep(0.01)
        return True


@asynccontextmanager
async def serve_edge(folder, server="hypercorn", **sections):
    """A deployment and its link host, running."""
    workspace_api = WorkspaceApi(folder, **({"ingest": PROXIES} | sections))
    ports, settings = workspace_api.service.ports, workspace_api.service.settings
    client = ClientAddressResolver(settings.ingest.trusted_proxies).resolve_nearest_untrusted
    async with workspace_api.service, redirect_dependencies(settings, ports, client) as dependencies:
        await workspace_api.open()
        listener, stop = bind_listener("127.0.0.1:0"), asyncio.Event()
        address = listener_address(listener)
        serving = asyncio.create_task(
            serve_until_shutdown(create_edge_app(dependencies), listener, server, stop)
        )
        yield EdgeClient(workspace_api, address, dependencies)
        stop.set()
        await serving


@pytest.fixture
async def edge(tmp_path):
    async with serve_edge(tmp_path) as edge:
        yield edge
