"""Many slow connections of one client keep nobody else out."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import pytest

from hosts.http.app import create_api_app
from hosts.servers.connection_limits import ConnectionLimits
from tests.commerce.providers.webhook_client import open_webhook_client
from tests.hosts.http.conftest import GUARD_SECONDS, SERVERS, run_server

SLOW_CONNECTIONS = 400
HALF_A_REQUEST = (
    b"POST /track HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{"
)


async def ask_from(port, client_address):
    """The status and body of a whole request from an address of the loopback network."""
    async with asyncio.timeout(GUARD_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(client_address, 0))
        with suppress(ConnectionError):
            writer.write(b"GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@asynccontextmanager
async def dripping_connections(port, count=SLOW_CONNECTIONS):
    """Connections from 127.0.0.1 that send a byte of their body now and then."""
    opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(count)))
    stopped = asyncio.Event()

    async def drip():
        for _, writer in opened:
            writer.write(HALF_A_REQUEST)
        while not stopped.is_set():
            for _, writer in opened:
                with suppress(OSError, RuntimeError):
                    writer.write(b" ")
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), 1)

    dripping = asyncio.create_task(drip())
    try:
        yield opened
    finally:
        stopped.set()
        await dripping
        for _, writer in opened:
            writer.transport.abort()


async def wait_until_none_is_open(limits, port):
    """Waits for the end of the connections before, the one included by which the start of the server was noticed."""
    await ask_from(port, "127.0.0.2")
    async with asyncio.timeout(GUARD_SECONDS):
        while limits.open_connections:
            await asyncio.sleep(0.01)


async def answer_of(connection):
    reader, _ = connection
    with suppress(ConnectionError):
        async with asyncio.timeout(GUARD_SECONDS):
            return await reader.read(9 + len(b"503"))
    return b""


@pytest.mark.parametrize("server", SERVERS)
async def test_400_dripping_connections_do_not_stop_the_api(echo, server):
    async with run_server(create_api_app(echo), server) as live, dripping_connections(live.port):
        assert (await ask_from(live.port, "127.0.0.1"))[0] == 200


@pytest.mark.parametrize("server", SERVERS)
async def test_400_dripping_connections_do_not_stop_the_ingest_host(tmp_path, server):
    async with (
        open_webhook_client(tmp_path) as webhook_client,
        run_server(webhook_client.app, server) as live,
        dripping_connections(live.port),
    ):
        assert await ask_from(live.port, "127.0.0.1") == (404, {"error": "Not found"})


@pytest.mark.parametrize("server", SERVERS)
async def test_connections_of_one_address_above_its_limit_are_answered_503(echo, server):
    limits = ConnectionLimits(per_address=50, unlimited_networks=())
    async with run_server(create_api_app(echo), server, limits=limits) as live:
        await wait_until_none_is_open(limits, live.port)
        async with dripping_connections(live.port) as slow:
            refused = await asyncio.gather(*(answer_of(connection) for connection in slow[-100:]))
            assert set(refused) == {b"HTTP/1.1 503"}
            assert await ask_from(live.port, "127.0.0.1") == (503, {"error": "Too many connections"})
            assert (await ask_from(live.port, "127.0.0.2"))[0] == 200
        async with asyncio.timeout(GUARD_SECONDS):
            while (await ask_from(live.port, "127.0.0.1"))[0] != 200:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("server", SERVERS)
async def test_connections_above_the_total_are_answered_503(echo, server):
    limits = ConnectionLimits(total=20)
    async with run_server(create_api_app(echo), server, limits=limits) as live:
        await wait_until_none_is_open(limits, live.port)
        async with dripping_connections(live.port, 40):
            assert (await ask_from(live.port, "127.0.0.2"))[0] == 503


def test_proxies_and_loopback_have_no_limit_of_their_own():
    limits = ConnectionLimits(per_address=1, unlimited_networks=("127.0.0.0/8", "10.0.0.0/8"))
    for address, accepted in (
        ("10.1.2.3", [True, True]),
        ("127.0.0.1", [True, True]),
        (None, [True, True]),
        ("203.0.113.9", [True, False]),
    ):
        with limits.count_if_below_limits(address) as first, limits.count_if_below_limits(address) as second:
            assert [first, second] == accepted, address
    with (
        limits.count_if_below_limits("2001:db8::1") as first,
        limits.count_if_below_limits("2001:db8::2") as second,
        limits.count_if_below_limits("2001:db8:0:1::1") as elsewhere,
    ):
        assert [first, second, elsewhere] == [True, False, True]
