"""A shop that carries the script of web pages, a browser that visits it, and the real ingest host behind it."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest_asyncio

from hosts.ingest.run import application
from hosts.serving import bind, serve
from service_core.access.keys import found_workspace
from service_core.gateway.exchange import Request
from service_core.kernel.clock import system_clock
from tests.web.house import GUARD_MILLISECONDS

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
GUARD_SECONDS = 100
"""Against hanging."""

STUB = """
<script>
  window.touchpoint ??= { q: [] };
  for (const name of ["track", "page", "identify", "alias", "group", "optOut"])
    touchpoint[name] ??= (...given) => touchpoint.q.push([name, ...given]);
</script>
"""
HEAD = """<!doctype html><meta charset="utf-8"><title>Shop {path}</title>{stub}
<script>window.faults = []; onerror = onunhandledrejection = (fault) => {{ faults.push(String(fault)); }};</script>
<script async src="{ingest}/t.js" data-workspace-id="{workspace}" {attributes}></script>{body}"""
AHEAD = "const real = Date.now.bind(Date); window.ahead = 0; Date.now = () => real() + window.ahead;"
SIGNAL = "Object.defineProperty(Navigator.prototype, '%s', { get: () => %s });"


@dataclass
class Shop:
    """A site that carries the script, and the queue where its events arrive."""

    house: object
    ingest: str
    port: int
    founded: object = None
    attributes: str = ""
    stub: str = ""
    body: str = ""
    policy: str = ""

    @property
    def workspace(self):
        return self.founded.workspace

    def url(self, path="/", host="localhost"):
        return f"http://{host}:{self.port}{path}"

    async def answer(self, reader, writer):
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = request.split(" ")[1]
        page = HEAD.format(
            path=path.partition("?")[0], ingest=self.ingest, workspace=self.workspace.public_id,
            attributes=self.attributes, stub=self.stub, body=self.body,
        )  # fmt: skip
        policy = f"Content-Security-Policy: {self.policy}\r\n" if self.policy else ""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{policy}Connection: close\r\n\r\n"
        writer.write(head.encode() + page.encode())
        await writer.drain()
        writer.close()

    async def asked_for(self, path):
        """An answer of the API."""
        headers = {"authorization": f"Bearer {self.founded.agent_key.secret}"}
        day = [(system_clock() + timedelta(days=days)).date() for days in (-1, 1)]
        query = "start_date={}&end_date={}".format(*day)
        return json.loads((await self.house.service.dispatch(Request("GET", path, query, headers, b""))).body)

    async def events(self, until):
        """What the service has of this workspace, once it comes to something."""
        async with asyncio.timeout(GUARD_SECONDS):
            while True:
                found = [
                    json.loads(one.arrival.body)
                    for one in await self.house.service.ports.queue.take(10_000)
                    if one.arrival.workspace_id == self.workspace.id
                ]
                found.sort(key=lambda event: event["timestamp"])
                if until(found):
                    return found
                await asyncio.sleep(0.02)

    async def named(self, *names):
        """The events, once these and no others are there."""
        found = await self.events(lambda found: len(found) >= len(names))
        assert sorted(event["event"] for event in found) == sorted(names)
        return found

    @asynccontextmanager
    async def visitor(self, *scripts, **options):
        """A browser of its own; whatever happens, the pages it sees meet no fault of the script."""
        context = await self.house.browser.new_context(**options)
        context.set_default_timeout(GUARD_MILLISECONDS)
        for script in scripts:
            await context.add_init_script(script)
        try:
            yield context
            for page in context.pages:
                assert await page.evaluate("window.faults ?? []") == []
        finally:
            await context.close()

    @asynccontextmanager
    async def visited(self, path="/", *scripts, host="localhost", **options):
        async with self.visitor(*scripts, **options) as context:
            page = await context.new_page()
            await page.goto(self.url(path, host))
            await ready(page)
            yield page


async def ready(page):
    await page.wait_for_function("window.touchpoint?.isReady")


async def cookies(page):
    return {each["name"]: each for each in await page.context.cookies()}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def grounds(house):
    """The ingest host of the house, and a place for a shop."""
    stop, listener = asyncio.Event(), bind("127.0.0.1:0")
    app = application(house.service.settings, house.service.ports)
    serving = asyncio.create_task(serve(app, listener, "uvicorn", stop))
    shop = Shop(house, f"http://localhost:{listener.getsockname()[1]}", 0)

    async def answer(reader, writer):
        await shop.answer(reader, writer)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    shop.port = server.sockets[0].getsockname()[1]
    async with server:
        yield shop
        stop.set()
        await serving


@pytest_asyncio.fixture(loop_scope="session")
async def shop(grounds):
    made = await found_workspace(grounds.house.store, system_clock(), name="Shop")
    plain = Shop(grounds.house, grounds.ingest, grounds.port, made)
    grounds.answer, before = plain.answer, grounds.answer
    yield plain
    grounds.answer = before
