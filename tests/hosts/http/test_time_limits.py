"""Every host on every server ends a request or an answer that takes too long as a whole, and closes the connection."""

import asyncio
import socket
from contextlib import suppress

import pytest
from quart import Blueprint, request

from hosts.edge.app import RedirectDependencies, create_edge_app
from hosts.http.app import create_api_app
from hosts.ingest.app import IngestDependencies, create_ingest_app
from hosts.monitoring.metrics_endpoint import create_metrics_app
from hosts.servers import LINGER_SECONDS, TimeLimits
from hosts.servers.connection_limits import ConnectionLimits
from service_core.api.http_messages import ApiResponse
from tests.hosts.http.conftest import GUARD_SECONDS, SERVERS, EchoDispatcher, run_server

SHORT_SECONDS = 0.2
LATEST_SECONDS = 30
"""Far above the limit, for a machine with other work; far below what the drips would last."""
SHORT = TimeLimits(idle=SHORT_SECONDS, request=SHORT_SECONDS, answer=SHORT_SECONDS)


def api(_):
    return create_api_app(EchoDispatcher())


def pages_and_mcp(_):
    form = Blueprint("form", __name__)

    @form.post("/mcp")
    async def read_body_as_pages_do():
        return str(len(await request.get_data()))

    return create_api_app(EchoDispatcher(), pages=[form])


def ingest(_):
    return create_ingest_app(IngestDependencies(None, None, None, None))


def link_host(_):
    return create_edge_app(RedirectDependencies("x", None, None, None, None, None, None))


HOSTS = {
    "api": (api, b"/v1/x"),
    "mcp": (pages_and_mcp, b"/mcp"),
    "ingest": (ingest, b"/track"),
    "link host": (link_host, b"/a-link"),
    "metrics": (create_metrics_app, b"/metrics"),
}


async def drip(port, header, path):
    """Sends a request, then a byte at a time, until the connection is closed; returns the statuses of the answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = bytearray()

    async def collect_answer():
        with suppress(ConnectionError):
            while part := await reader.read(65_536):
                answer.extend(part)

    reading = asyncio.create_task(collect_answer())
    writer.write(header % path)
    async with asyncio.timeout(LATEST_SECONDS):
        while not reading.done():
            writer.write(b"a")
            await asyncio.sleep(0.02)
    writer.transport.abort()
    return [line.split()[1] for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


DRIPPED_HEADER = b"POST %s HTTP/1.1\r\nhost: x\r\nx-a: "
DRIPPED_BODY = b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n{"
DRIPPED_SECOND_REQUEST = b"GET /a/b HTTP/1.1\r\nhost: y\r\n\r\nPOST %s HTTP/1.1\r\nhost: x\r\nx-a: "


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("server", SERVERS)
async def test_dripped_request_ends_in_the_total_time(server, host, tmp_path):
    create_app, path = HOSTS[host]
    limits = ConnectionLimits(times=SHORT)
    async with run_server(create_app(tmp_path), server, limits=limits) as live:
        header, body, second = await asyncio.gather(
            drip(live.port, DRIPPED_HEADER, path),
            drip(live.port, DRIPPED_BODY, path),
            drip(live.port, DRIPPED_SECOND_REQUEST, path),
        )
        async with asyncio.timeout(GUARD_SECONDS):
            while limits.open_connections:
                await asyncio.sleep(0.01)
    assert header == []
    assert b"200" not in body or host == "metrics"
    assert len(second) == 1


SHORT_BYTES = 500_000


class LargeAnswer:
    BODY = b"a" * 20_000_000

    async def __call__(self, request):
        headers = {"Content-Type": "application/octet-stream"}
        if request.path == "/short":
            return ApiResponse(200, headers, self.BODY[:SHORT_BYTES])
        if request.path == "/whole":
            return ApiResponse(200, headers, self.BODY)
        return ApiResponse(200, headers | {"Content-Length": str(len(self.BODY))}, open_stream=self.pieces)

    async def pieces(self):
        for start in range(0, len(self.BODY), 50_000):
            yield self.BODY[start : start + 50_000]


@pytest.mark.parametrize("path", [b"/whole", b"/streamed"])
@pytest.mark.parametrize("server", SERVERS)
async def test_answer_read_slowly_ends_in_the_total_time(server, path):
    limits = ConnectionLimits(times=SHORT)
    async with run_server(create_api_app(LargeAnswer()), server, limits=limits) as live:
        client = socket.create_connection(("127.0.0.1", live.port))
        client.setblocking(False)
        loop, size = asyncio.get_running_loop(), 0
        await loop.sock_sendall(client, b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path)
        with client, suppress(ConnectionError):
            async with asyncio.timeout(LATEST_SECONDS):
                while not size or limits.open_connections:
                    size += len(await loop.sock_recv(client, 100))
                    await asyncio.sleep(0.01)
    assert limits.open_connections == 0
    assert 0 < size < len(LargeAnswer.BODY)


@pytest.mark.parametrize("server", SERVERS)
async def test_answer_read_in_time_is_whole_and_the_connection_goes_on(server):
    limits = ConnectionLimits(times=TimeLimits(answer=GUARD_SECONDS))
    request = b"GET /short HTTP/1.1\r\nhost: x\r\n"
    async with run_server(create_api_app(LargeAnswer()), server, limits=limits) as live:
        answer = await live.send_bytes(request + b"\r\n", request + b"connection: close\r\n\r\n")
    assert len(answer) > 2 * SHORT_BYTES


async def size_of_answer_read_late(server, path, *, after=3 * SHORT_SECONDS, is_half_closed=False):
    limits = ConnectionLimits(times=TimeLimits(idle=SHORT_SECONDS))
    async with (
        run_server(create_api_app(LargeAnswer()), server, limits=limits) as live,
        asyncio.timeout(GUARD_SECONDS),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write(b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path)
        await reader.readexactly(1)
        if is_half_closed:
            writer.write_eof()
        await asyncio.sleep(after)
        size = len(await reader.read())
        writer.close()
    return size


@pytest.mark.parametrize("path", [b"/whole", b"/streamed"])
@pytest.mark.parametrize("server", SERVERS)
async def test_answer_read_later_than_the_idle_time_is_whole(server, path):
    assert await size_of_answer_read_late(server, path) > len(LargeAnswer.BODY)


async def test_answer_to_a_client_that_only_reads_is_whole():
    size = await size_of_answer_read_late(
        "granian", b"/whole", after=1.5 * LINGER_SECONDS, is_half_closed=True
    )
    assert size > len(LargeAnswer.BODY)
