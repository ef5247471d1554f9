"""F22 and F23: bodies made to break a parser; each is refused as JSON, quickly, by every server."""

import asyncio
import os
import random
import zlib
from pathlib import Path

import pytest

from service_core.testing.durability_client import HttpConnection

GOOD = b'{"event":"purchase","user_id":"u","properties":{"value":"49.90","tags":["a","\\u00e4"],"n":1e3}}'
TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\\u0000", b"null", b"NaN", b"-Infinity",
    b"1e400", b"-0", b"9" * 40, b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"'", b"//", b"true", b'"event"',
    b'"events":[]', b'"user_id":', b"\r\n\r\n", b"<xml/>", b"%00", b"\xf0\x9f\x92\xa9",
]  # fmt: skip
BOMBS = {
    "arrays without end": b"[" * 256_000,
    "objects without end": (b'{"a":' * 51_200)[:256_000],
    "a hundred thousand keys": b'{"event":1,' + b",".join(b'"%x":0' % n for n in range(28_000)) + b"}",
    "a number of five thousand digits": b'{"event":"a","user_id":' + b"7" * 5_000 + b"}",
    "one long text": b'{"event":"' + b"\\u0000" * 40_000 + b'"}',
    "a compressed body": zlib.compress(b"0" * 20_000_000),
    "white space": b" " * 255_999 + b"{",
}


def malform_body(rng: random.Random, good: bytes = GOOD) -> bytes:
    """A good body with something wrong, or plain noise."""
    body = bytearray(good)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(body) + 1)
        match rng.randrange(5):
            case 0:
                body[at:at] = rng.choice(TOKENS)
            case 1:
                del body[at : at + rng.randint(1, 12)]
            case 2:
                body[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                body[at:at] = body[: rng.randint(0, 40)]
            case _:
                body = bytearray(b"".join(rng.choices(TOKENS, k=rng.randint(1, 30))))
    return bytes(body)


def resident_bytes(pid: int) -> int:
    """Bytes a process keeps in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def processor_seconds(pid: int) -> float:
    """What a process has computed so far, however busy its machine is."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_malformed_bodies_never_return_500(deployment, server, is_full_run):
    seed = random.randrange(2**32) if is_full_run else 22  # a change passes or it does not
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    rng = random.Random(seed)
    bodies = [malform_body(rng) for _ in range(10_000 if is_full_run else 250)]
    wrong = []
    async with deployment.ingest(server=server) as child:

        async def send(mine: list[bytes], key: str):
            connection = HttpConnection(child.address)
            for body in mine:
                reply = await connection.post("/track", body, {"X-API-Key": key})
                answered = isinstance(reply.body, dict) and ("error" in reply.body or reply.body["success"])
                if reply.status not in {200, 400, 429} or not answered:
                    wrong.append((body, reply))
            connection.close()

        await asyncio.gather(*(send(bodies[n::4], deployment.keys[n]) for n in range(4)))
    assert wrong == []


@pytest.mark.faults
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_nested_json_bomb_costs_little_time_and_memory(deployment, server):
    async with deployment.ingest(server=server) as child:
        connection = HttpConnection(child.address)
        headers = {"X-API-Key": deployment.keys[0]}
        await connection.post("/track", GOOD, headers)
        before = resident_bytes(child.process.pid)
        for name, bomb in BOMBS.items():
            encoded = {"Content-Encoding": "gzip"} if name == "a compressed body" else {}
            used = processor_seconds(child.process.pid)
            reply = await connection.post("/track", bomb, headers | encoded)
            assert reply.status == 400, name
            assert processor_seconds(child.process.pid) - used < 1, name
        connection.close()
        assert resident_bytes(child.process.pid) - before < 50_000_000


@pytest.mark.faults
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_oversized_body_returns_413_without_a_reset(deployment, server):
    async with deployment.ingest(server=server) as child:
        for _ in range(5):
            connection = HttpConnection(child.address)
            reply = await connection.post("/track", b"x" * 2_000_000, {"X-API-Key": deployment.keys[0]})
            connection.close()
            assert (reply.status, reply.body) == (413, {"error": "Payload too large. Maximum size is 256KB."})
            assert reply.headers["access-control-allow-origin"] == "*"


@pytest.mark.faults
async def test_ingest_host_uses_little_memory(deployment):
    async with deployment.ingest() as child:
        connection = HttpConnection(child.address)
        assert (await connection.post("/track", GOOD, {"X-API-Key": deployment.keys[0]})).status == 200
        connection.close()
        assert resident_bytes(child.process.pid) < 120_000_000
