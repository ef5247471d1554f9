"""The API host on every server: one view, bodies with bounds, requests that can be read in one way only."""

import asyncio
import json

import pytest

from hosts.http.app import create_api_app
from tests.hosts.http.conftest import GUARD_SECONDS, run_server


async def echoed_request(served, method, target, body=b"", *headers):
    status, _, content = await served.ask(method, target, body, *headers)
    return status, json.loads(content)


@pytest.mark.parametrize(
    "target",
    ["/", "/v1", "/v1/overview", "/v1/overview/", "//v1//x", "/v1/users/a%2Fb", "/%2e%2e/x", "/v1/%zz"],
)
async def test_every_path_reaches_the_dispatcher_unchanged(served, target):
    status, seen = await echoed_request(served, "GET", f"{target}?a=1&b=%20")
    assert (status, seen["path"], seen["query"]) == (200, target, "a=1&b=%20")


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "PURGE"])
async def test_every_method_reaches_the_dispatcher(served, method):
    assert (await echoed_request(served, method, "/x"))[1]["method"] == method


async def test_response_has_the_headers_of_the_dispatcher(served):
    status, headers, _ = await served.ask("GET", "/x")
    assert (status, headers["x-own"], headers["content-type"]) == (200, "yes", "application/json")


async def test_head_returns_the_content_length_without_body(served):
    _, _, content = await served.ask("GET", "/x")
    status, headers, nothing = await served.ask("HEAD", "/x")
    assert (status, nothing) == (200, b"")
    assert int(headers["content-length"]) == len(content) + len("HEAD") - len("GET")


async def test_empty_response_is_complete(served):
    status, headers, content = await served.ask("GET", "/empty")
    assert (status, content, headers["x-own"]) == (204, b"", "yes")


async def test_headers_and_client_reach_the_dispatcher(served, echo):
    await served.ask("GET", "/x", b"", "Authorization: Bearer t", "X-Forwarded-For: 203.0.113.9")
    assert echo.requests[0].headers["authorization"] == "Bearer t"
    assert echo.requests[0].client_ip == "127.0.0.1"  # nobody is trusted to forward


async def test_a_large_body_is_read_to_its_end_before_it_is_refused(served, echo):
    status, seen = await echoed_request(served, "POST", "/x", b"a" * 3_000_000)
    assert (status, seen["size"]) == (413, 1_000_001)


async def test_a_body_at_the_limit_passes(served):
    assert await echoed_request(served, "POST", "/x", b"a" * 1_000_000) == (
        200, {"method": "POST", "path": "/x", "query": "", "size": 1_000_000},
    )  # fmt: skip


async def test_a_chunked_body_is_one_body(served):
    body = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    head = b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = await served.send_bytes(head + body)
    assert b'"size": 5' in answer


async def test_stalled_request_body_times_out(served, echo, monkeypatch):
    monkeypatch.setattr("hosts.http.app.BODY_TIMEOUT_SECONDS", 0.05)
    answer = await served.send_bytes(
        b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc"
    )
    assert answer.split()[1] == b"408"
    assert answer.endswith(b'{"error":"Request body took too long"}')
    assert echo.requests == []


FOLLOWING_REQUEST = b"GET /smuggled HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
AMBIGUOUS = {
    "length and chunked": b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nabcde",
    "signed length": b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: +3\r\n\r\nabc",
    "two hosts": b"GET /x HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
    "no host": b"GET /x HTTP/1.1\r\n\r\n",
    "two credentials": b"GET /x HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    "nul in a value": b"GET /x HTTP/1.1\r\nhost: x\r\nx-a: a\0b\r\n\r\n",
    "space before colon": b"GET /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding : chunked\r\n\r\n",
    "unknown coding": b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
}


READ_IN_ONE_WAY = {
    ("granian", "length and chunked"): "it drops the length, reads chunks and closes the connection",
    ("granian", "chunked and length"): "it drops the length, reads chunks and closes the connection",
}
"""What a server settles before the guard can see it, and why nothing can follow such a request."""


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_ambiguous_request_is_refused_and_closes_the_connection(served, echo, name):
    answer = await served.send_bytes(AMBIGUOUS[name] + FOLLOWING_REQUEST)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert "/smuggled" not in [request.path for request in echo.requests]
    if (served.server, name) not in READ_IN_ONE_WAY:
        assert not answer or answer.split()[1] in (b"400", b"501"), answer
        assert echo.requests == []


@pytest.mark.parametrize(
    "rest",
    [
        b"transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n",
        b"content-length: abc\r\n\r\nabc",
    ],
)
async def test_malformed_body_returns_a_4xx_status(served, echo, rest):
    answer = await served.send_bytes(b"POST /x HTTP/1.1\r\nhost: x\r\n" + rest)
    assert not answer or answer.split()[1].startswith(b"4"), answer


async def test_requests_in_flight_finish_after_the_stop_signal(served, echo):
    asking = asyncio.create_task(echoed_request(served, "GET", "/slow"))
    await echo.entered.wait()
    served.shutdown.set()
    await read_refusal(served.port)
    echo.release.set()
    assert (await asking)[0] == 200


async def read_refusal(port):
    """Until no new connection is answered any more."""
    async with asyncio.timeout(GUARD_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
            except OSError:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
async def test_keep_alive_connection_stays_open_when_idle(echo, server, monkeypatch):
    monkeypatch.setattr(f"hosts.servers.{server}.IDLE_TIMEOUT_SECONDS", 10 * GUARD_SECONDS)
    async with run_server(create_api_app(echo), server) as live, asyncio.timeout(GUARD_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
