"""A small gateway's stand-in behind a real server on a real socket."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from hosts.asgi_runner import bind_listener, serve_until_shutdown
from hosts.http.app import create_api_app
from service_core.api.http_messages import ApiResponse
from tests.fixtures.waiting import GUARD_SECONDS

SERVERS = ("hypercorn", "uvicorn", "granian")


class EchoDispatcher:
    """Answers with what reached it; `/slow` waits until it is told to go on."""

    def __init__(self):
        self.requests = []
        self.release = asyncio.Event()
        self.entered = asyncio.Event()

    async def __call__(self, request):
        self.requests.append(request)
        if request.path == "/slow":
            self.entered.set()
            await self.release.wait()
        values = {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "size": len(request.body),
        }
        status = 413 if len(request.body) > 1_000_000 else 200
        body, own = json.dumps(values).encode(), {"Content-Type": "application/json", "X-Own": "yes"}
        if request.method == "HEAD":
            return ApiResponse(status, own | {"Content-Length": str(len(body))})
        return ApiResponse(204, own) if request.path == "/empty" else ApiResponse(status, own, body)


class RunningServer:
    def __init__(self, port, shutdown):
        self.port = port
        self.shutdown = shutdown

    async def send_bytes(self, *parts):
        """Send bytes on a new connection and read until the server closes it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        received = b""
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            async with asyncio.timeout(GUARD_SECONDS):
                while chunk := await reader.read(65536):
                    received += chunk
        except ConnectionError:
            pass
        finally:
            writer.close()
        return received

    async def ask(self, method, target, body=b"", *headers):
        """One request that closes its connection; status, headers and body of the answer."""
        lines = [f"{method} {target} HTTP/1.1", "host: x", "connection: close", *headers]
        if body:
            lines.append(f"content-length: {len(body)}")
        answer = await self.send_bytes("\r\n".join([*lines, "", ""]).encode() + body)
        head, _, content = answer.partition(b"\r\n\r\n")
        status, *fields = head.decode().split("\r\n")
        return (
            int(status.split()[1]),
            {f.split(":")[0].lower(): f.partition(": ")[2] for f in fields},
            content,
        )


@asynccontextmanager
async def run_server(app, server, **options):
    listener, shutdown = bind_listener("127.0.0.1:0"), asyncio.Event()
    port = listener.getsockname()[1]
    task = asyncio.create_task(serve_until_shutdown(app, listener, server, shutdown, **options))
    try:
        await wait_for_listener(port, task)
        yield RunningServer(port, shutdown)
    finally:
        shutdown.set()
        async with asyncio.timeout(GUARD_SECONDS):
            await task


async def wait_for_listener(port, task):
    while not task.done():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
    await task


@pytest.fixture
def echo():
    return EchoDispatcher()


@pytest.fixture(params=SERVERS)
async def served(request, echo):
    async with run_server(create_api_app(echo), request.param) as live:
        live.server = request.param
        yield live
