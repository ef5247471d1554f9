"""F21: clients that begin and do not go on: they cost a connection for a while, and nobody else notices."""

import asyncio
import time
from contextlib import suppress
from statistics import median

import pytest

from service_core.testing.durability_client import HttpConnection
from tests.fault_injection.conftest import FULL
from tests.fixtures.cpu_wait import Stopwatch

ANOTHER = b"GET /nothing HTTP/1.1\r\nHost: test\r\n\r\n"
HALF_A_HEADER = b"POST /track HTTP/1.1\r\nHost: test\r\nX-API-Key: "
HALF_A_BODY = b"POST /track HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n" + b'{"event":'
LONGEST_SECONDS = 60
"""Ten seconds for a header or a body, by a sweep that may be a quarter late, on a machine with other work."""
REQUESTS = 40
ROUNDS = 20
"""How often a pace is taken: a machine with other work slows some rounds, a host that is slowed down all of them."""


async def start_request(address, sent):
    """A connection on which something was begun."""
    host, _, port = address.rpartition(":")
    streams = await asyncio.open_connection(host, int(port))
    streams[1].write(sent)
    await streams[1].drain()
    return streams


async def wait_for_close(reader):
    """What the server said before it ended the connection."""
    with suppress(ConnectionError):
        return await reader.read()
    return b""


async def count_closed(connections):
    """Leave without a word."""
    for _, writer in connections:
        writer.transport.abort()
    for _, writer in connections:
        with suppress(ConnectionError):
            await writer.wait_closed()


async def request_durations(host, key, times):
    """Seconds of good requests, one after the other."""
    connection, found = HttpConnection(host.address), []
    for number in range(times):
        watch = Stopwatch(host.process.pid)
        reply = await connection.post("/track", b'{"event":"a","user_id":"u%d"}' % number, {"X-API-Key": key})
        found.append(watch.seconds())
        assert reply.status == 200
    connection.close()
    return found


async def assert_still_fast(host, key, before):
    """How many requests it took to see the pace of before again."""
    for number in range(1, ROUNDS + 1):
        pace = median(await request_durations(host, key, REQUESTS))
        if pace < max(2 * before, before + 0.02):
            return number * REQUESTS
    return pytest.fail(f"{pace} seconds for a request, and {before} before")


@pytest.mark.faults
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_slow_clients_do_not_delay_others(deployment, server):
    key, number = deployment.keys[0], 2_000 if FULL else 150
    async with deployment.ingest(server=server) as child:
        before = median(await request_durations(child, key, REQUESTS))
        kinds = [HALF_A_HEADER, HALF_A_BODY] * number
        slow = await asyncio.gather(*(start_request(child.address, sent) for sent in kinds))
        sent = REQUESTS + await assert_still_fast(child, key, before)
        await count_closed(slow)
        sent += await assert_still_fast(child, key, before)
    assert len(await deployment.kept()) == sent


async def is_idle_timeout_elapsed(deployment, server):
    async with deployment.ingest(server=server) as child:
        started = time.monotonic()
        slow = [
            await start_request(child.address, sent)
            for sent in (HALF_A_HEADER, HALF_A_BODY, ANOTHER + HALF_A_HEADER)
        ]
        async with asyncio.timeout(LONGEST_SECONDS):
            header, body, second = await asyncio.gather(*(wait_for_close(reader) for reader, _ in slow))
        assert time.monotonic() - started > 9
        assert b"200" not in header
        assert second.count(b"HTTP/1.1 404") == second.count(b"HTTP/1.1") == 1
        assert body.startswith(b"HTTP/1.1 408")
        await count_closed(slow)


@pytest.mark.faults
async def test_idle_connection_is_closed_after_ten_seconds(deployment):
    servers = ("hypercorn", "uvicorn", "granian")  # side by side: all of them wait
    await asyncio.gather(*(is_idle_timeout_elapsed(deployment, server) for server in servers))
    assert await deployment.kept() == []
