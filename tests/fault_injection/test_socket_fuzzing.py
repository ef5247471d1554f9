"""F23: random and mutated bytes at the raw sockets of every host: no 5xx, no torn answer, no hang."""

import asyncio
import random
import re
import socket
import sys
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from hosts.demo.demo_service import serve_in_subprocess
from service_core.testing.durability_client import HttpConnection
from tests.fault_injection.conftest import FULL

SERVERS = ("hypercorn", "uvicorn", "granian")
PARTS = 4 if FULL else 1
BYTES_PER_HOST = 20_000_000 // len(SERVERS) // PARTS if FULL else 30_000
"""On each server and in each part: 20 million for each host in a full run."""
CONNECTIONS = 16
ANSWERED_WITHIN_SECONDS = 60
PAUSE_SECONDS = 0.1
"""How long a client waits before it says that nothing more follows: most of what it sent is no whole request."""
SEEDS = (
    b"GET /health HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n",
    b"GET /v1/overview?start_date=2026-07-01&end_date=2026-07-02 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer dk_agent_x\r\n\r\n",
    b'POST /track HTTP/1.1\r\nHost: test\r\nX-API-Key: KEY\r\nContent-Length: 33\r\n\r\n{"event":"a","user_id":"u","n":12}',
    b'POST /batch HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n{"workspace_id":"x","a":1}\r\n0\r\n\r\n',
    b"POST /mcp HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    b"OPTIONS /track HTTP/1.1\r\nHost: test\r\nOrigin: https://shop.example\r\n\r\n",
    b"GET /t.js HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x07\x00\x00\x00\x00\x00",
    b"POST /app/sign-in HTTP/1.1\r\nHost: test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nemail=a%40",
)
PATHS = {"api": b"/openapi.json", "ingest": b"/t.js", "redirects": b"/health", "metrics": b"/health"}
"""Host -> what is requested after the malformed bytes: a host goes on serving everybody else."""
FRAGMENTS = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b"HTTP/1.1", b"HTTP/9.9", b"%zz", b"\r\n ", b"\xff\xfe",
    b"Content-Length: 3, 3\r\n", b"Content-Length: -1\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: other\r\n",
    b"ffffffffffffffff\r\n", b"A" * 9_000, b"a: b\r\n" * 200, b"Content-Encoding: gzip\r\n", b"../" * 50,
)  # fmt: skip


def fuzzed_bytes(rng, key):
    """A few requests with random changes, or bytes without any form."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(1, 20_000))
    data = bytearray(b"".join(rng.choices(SEEDS, k=rng.randrange(1, 4))).replace(b"KEY", key.encode()))
    for _ in range(rng.randrange(0, 8)):
        position = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            data[position:position] = rng.choice(FRAGMENTS)
        elif kind == 1:
            del data[position : position + rng.randrange(1, 30)]
        elif kind == 2:
            data[position : position + 1] = rng.randbytes(1)
        else:
            data[position:position] = data[rng.randrange(len(data) + 1) :][: rng.randrange(1, 400)]
    return bytes(data)


async def answer_to(address, data, rng):
    """What the host says to some bytes, sent in pieces, before it or the client ends the connection."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    answer = b""
    with suppress(OSError):  # a host may reset the connection of a malformed request
        cut = rng.randrange(len(data) + 1)
        for piece in (data[:cut], data[cut:]):
            writer.write(piece)
            await writer.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                answer = await reader.read(65_536)
        writer.write_eof()  # uvicorn lets a client go that has said this, and answers no more
        while chunk := await reader.read(65_536):
            answer += chunk
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return answer


async def read_answer_to_end(address, data):
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


async def fuzz_host(address, path, key, seed):
    """Sends the bytes of one host over several connections at a time; returns how many answers had which status."""
    rng, sent, statuses = random.Random(seed), 0, {}

    async def send_until_enough():
        nonlocal sent
        while sent < BYTES_PER_HOST:
            data = fuzzed_bytes(rng, key)
            sent += len(data)
            async with asyncio.timeout(ANSWERED_WITHIN_SECONDS):
                answer = await answer_to(address, data, rng)
            assert not answer or answer.startswith(b"HTTP/1.1 "), (data, answer)
            for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer):
                assert not status.startswith(b"5"), (data, answer)
                statuses[status] = statuses.get(status, 0) + 1

        await send_whole_request()

    async def send_whole_request():
        async with asyncio.timeout(ANSWERED_WITHIN_SECONDS):
            answer = await read_answer_to_end(
                address, b"GET %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n" % path
            )
        status = answer.split()[1]
        assert status in {b"200", b"404"}, answer
        statuses[status] = statuses.get(status, 0) + 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CONNECTIONS):
            tasks.create_task(send_until_enough())
    sys.stdout.write(f"{sent:,} bytes at {address}, answers by status: {statuses}\n")
    return statuses


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("server", SERVERS)
async def test_fuzzed_bytes_at_sockets_cause_no_fault(deployment, server, part, monkeypatch):
    addresses = {"redirects": free_address(), "metrics": free_address()}
    monkeypatch.setenv("TOUCHPOINT_HTTP__SERVER", server)
    monkeypatch.setenv("TOUCHPOINT_HTTP__INGEST_SERVER", server)
    monkeypatch.setenv("TOUCHPOINT_HTTP__REDIRECTS", addresses["redirects"])
    monkeypatch.setenv("TOUCHPOINT_LINKS__DOMAIN", "go.example")
    monkeypatch.setenv("TOUCHPOINT_MONITORING__LISTEN", addresses["metrics"])
    key, first_seed = deployment.keys[0], (SERVERS.index(server) * PARTS + part) * len(PATHS)
    with serve_in_subprocess(deployment.config, "127.0.0.1:0", "127.0.0.1:0") as running:
        addresses |= {"api": urlsplit(running.api).netloc, "ingest": urlsplit(running.ingest).netloc}
        statuses = await asyncio.gather(
            *(
                fuzz_host(addresses[host], path, key, seed)
                for seed, (host, path) in enumerate(PATHS.items(), first_seed)
            )
        )
        api, ingest = (HttpConnection(addresses[host]) for host in ("api", "ingest"))
        assert (await ingest.post("/track", b'{"event":"a","user_id":"u"}', {"X-API-Key": key})).status == 200
        assert (await api.post("/mcp", b"{}", {})).status == 401
        api.close()
        ingest.close()
    assert all({b"200", b"404"} & of_host.keys() and b"400" in of_host for of_host in statuses), statuses
