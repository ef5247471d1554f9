"""Measures the latency of redirects at a steady rate on the embedded store, next to a server that answers at once.

Usage: ``python -m tests.bench.edge [--rate 500] [--seconds 10] [--links 200] [--server uvicorn]``

Requests start on time whether or not earlier ones are answered, so a pause of the host shows in every request it
delayed. A link is changed once a second meanwhile. At the end every click must be counted. The baseline server
shows how much of the latency is due to the machine.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from hosts.composition.compose import Service, compose
from hosts.composition.load_settings import load_settings_with_environment
from hosts.ingest.ingest_process import IngestProcess
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.access.models import Workspace
from service_core.api.http_messages import ApiRequest
from service_core.kernel.operations import Scope
from tests.bench.ingest import BaselineServer, cpu_by_process

AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/{}.0.0.0 Safari/537.36"
CONNECTIONS = 64
PATIENCE_SECONDS = 10.0
PLAIN_BODY = '{"event":"click"}'
"""The baseline server answers events; the redirect host takes no body."""


class LinksClient:
    """Creates links with an API key of a workspace."""

    def __init__(self, service: Service, workspace: Workspace, key: str) -> None:
        self.service, self.workspace, self.key = service, workspace, key

    @classmethod
    async def open(cls, service: Service) -> "LinksClient":
        store, now = service.ports.workspace, datetime.now(UTC)
        initialized_deployment = await create_workspace_with_keys(store.credentials, now, name="Shop")
        scopes = {Scope.READ, Scope.WRITE_LINKS}
        minted = await create_named_key_clamping_rate_limit_to_plan(
            store.credentials,
            initialized_deployment.workspace,
            now,
            name="L",
            scopes=scopes,
            requested_rate_limit=100_000,
        )
        return cls(service, initialized_deployment.workspace, minted.secret)

    async def send_request(self, method: str, path: str, body: dict | None = None) -> dict:
        headers = {"authorization": f"Bearer {self.key}"}
        content = b"" if body is None else json.dumps(body).encode()
        return json.loads((await self.service.dispatch(ApiRequest(method, path, "", headers, content))).body)


async def make_links(shop: LinksClient, number: int) -> list[str]:
    """Returns the slugs of new links; they are written to the store, because a key may create only 20 a minute."""
    made = await shop.send_request(
        "POST", "/v1/links", {"link": {"name": "L", "destination_url": "https://example.com/", "slug": "s0"}}
    )
    from service_core.workspace.links.models import TrackingLink  # noqa: PLC0415 - only here

    async with shop.service.ports.workspace.transactions.write(shop.workspace.id) as unit:
        (first,) = await unit.resources.list_all(TrackingLink)
        for n in range(1, number):
            changed = {
                "id": type(first.id)(int=first.id.int + n),
                "slug": f"s{n}",
                "tracking_identifier": f"t{n:07d}",
            }
            await unit.resources.save(first.model_copy(update=changed))
    assert made["applied"]
    return [f"s{n}" for n in range(number)]


class Connection(asyncio.Protocol):
    """A keep-alive connection that sends one request at a time."""

    def __init__(self) -> None:
        self.answered: asyncio.Future[bytes] | None = None

    def connection_made(self, transport) -> None:
        self.transport = transport

    async def ask(self, request: bytes) -> bytes:
        self.answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self.answered

    def data_received(self, data: bytes) -> None:
        if self.answered is not None and not self.answered.done():
            self.answered.set_result(data)


class LoadGenerator:
    """Sends requests at a steady rate over a pool of connections."""

    def __init__(self, slugs: list[str], body: str = "") -> None:
        self.slugs, self.body = slugs, body
        self.times: list[float] = []
        self.failed = 0
        self.free: asyncio.Queue[Connection] = asyncio.Queue()

    async def run(self, address: str, rate: float, seconds: float) -> None:
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            _, protocol = await loop.create_connection(Connection, host, int(port))
            self.free.put_nowait(protocol)
        start, request = time.perf_counter() + 0.1, []
        for n in range(int(rate * seconds)):
            due = start + n / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            request.append(asyncio.create_task(self._follow(due)))
        await asyncio.wait(request, timeout=PATIENCE_SECONDS)

    async def _follow(self, due: float) -> None:
        head = (
            f"GET /{random.choice(self.slugs)}?gclid=Cj0{random.random()} HTTP/1.1\r\nHost: go.example.com\r\n"
            f"User-Agent: {AGENT.format(random.randrange(100, 140))}\r\n"
            f"X-Forwarded-For: 203.0.{random.randrange(200)}.{random.randrange(250)}\r\n"
            f"Content-Length: {len(self.body)}\r\n\r\n{self.body}"
        )
        connection = await self.free.get()
        answer = await connection.ask(head.encode())
        self.times.append(time.perf_counter() - due)
        self.free.put_nowait(connection)
        self.failed += not answer.startswith(b"HTTP/1.1 302")

    def __str__(self) -> str:
        times = sorted(self.times)
        p50, p99, longest = (1000 * times[at] for at in (len(times) // 2, len(times) * 99 // 100, -1))
        return f"p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  max {longest:6.1f} ms"


async def change_links(shop: LinksClient, stop: asyncio.Event) -> list[float]:
    """Change a link once a second; returns the duration of each change."""
    link, times = (await shop.send_request("GET", "/v1/links"))["links"][0]["id"], []
    while not stop.is_set():
        began = time.perf_counter()
        body = {"link": {"destination_url": f"https://example.com/{began}"}}
        await shop.send_request("PATCH", f"/v1/links/{link}", body)
        times.append(time.perf_counter() - began)
        await asyncio.sleep(1)
    return times


async def count_stored_clicks(shop: LinksClient, clicks: int) -> int:
    """Returns the number of counted clicks, after it stopped growing."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        links = (await shop.send_request("GET", "/v1/links"))["links"]
        counted = sum(link["clicks"] for link in links)
        if counted >= clicks or time.monotonic() > deadline:
            return counted
        await asyncio.sleep(0.1)


async def measure_redirects(folder: Path, given: argparse.Namespace) -> str:
    config = folder / "touchpoint.toml"
    config.write_text('[links]\ndomain = "go.example.com"\n[ingest]\ntrusted_proxies = ["127.0.0.1"]\n')
    service = compose(load_settings_with_environment(config), folder)
    async with service:
        shop = await LinksClient.open(service)
        load = LoadGenerator(await make_links(shop, given.links))
        host = await IngestProcess.start_and_wait_until_listening(
            config, listen="127.0.0.1:0", server=given.server
        )
        plain, reference = await BaselineServer.start(given.server), LoadGenerator(load.slugs, PLAIN_BODY)
        await reference.run(plain.address, given.rate, given.seconds)
        await plain.stop()
        before, stop = sum(cpu_by_process(host.process.pid).values()), asyncio.Event()
        changing = asyncio.create_task(change_links(shop, stop))
        await load.run(host.address, given.rate, given.seconds)
        stop.set()
        changes, used = sorted(await changing), sum(cpu_by_process(host.process.pid).values()) - before
        counted = await count_stored_clicks(shop, len(load.times))
        await host.terminate_or_kill_after_timeout()
    redirects = len(load.times)
    return (
        f"{given.server} at {given.rate:.0f}/s\nplain    {reference}\nredirect {load}\n"
        f"{redirects} redirects, {load.failed} failed, {counted} clicks counted, {1000 * used / redirects:.2f} ms of CPU each\n"
        f"a change of a link meanwhile: median {1000 * changes[len(changes) // 2]:.1f} ms, longest {1000 * changes[-1]:.1f} ms\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--links", type=int, default=200)
    parser.add_argument("--server", default="hypercorn")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        sys.stdout.write(uvloop.run(measure_redirects(Path(folder).absolute(), given)))


if __name__ == "__main__":
    main()
