"""The API host on every server: one view, bodies with bounds, requests that can be read in one way only."""

import asyncio
import gzip
import json
import re
import sys
from contextlib import suppress

import brotli
import pytest
from h2.connection import H2Connection
from quart import Blueprint, request

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_api_app
from hosts.servers import TimeLimits
from hosts.servers.connection_limits import ConnectionLimits
from service_core.api.http_messages import ApiResponse
from tests.hosts.http.conftest import GUARD_SECONDS, SERVERS, EchoDispatcher, run_server

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


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


async def test_large_body_is_read_to_its_end_before_it_is_refused(served, echo):
    status, seen = await echoed_request(served, "POST", "/x", b"a" * 3_000_000)
    assert (status, seen["size"]) == (413, 1_000_001)


async def test_body_at_the_limit_passes(served):
    assert await echoed_request(served, "POST", "/x", b"a" * 1_000_000) == (
        200, {"method": "POST", "path": "/x", "query": "", "size": 1_000_000},
    )  # fmt: skip


async def test_chunked_body_is_one_body(served):
    body = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    head = b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = await served.send_bytes(head + body)
    assert b'"size": 5' in answer


async def test_stalled_request_body_times_out(served, echo, monkeypatch):
    monkeypatch.setattr("hosts.http.app.CHUNK_TIMEOUT_SECONDS", 0.05)
    answer = await served.send_bytes(
        b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc"
    )
    assert answer.split()[1] == b"408"
    assert answer.endswith(b'{"error":"Request body took too long"}')
    assert echo.requests == []


@pytest.mark.parametrize("path", [b"/x", b"/form"])
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_dripping_request_body_times_out_on_every_route(echo, server, path, monkeypatch):
    monkeypatch.setattr("hosts.http.app.BODY_TIMEOUT_SECONDS", 0.5)
    form = Blueprint("form", __name__)

    @form.post("/form")
    async def read_form():
        return str(len(await request.get_data()))

    header = b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n" % path
    async with run_server(create_api_app(echo, pages=[form]), server) as live, asyncio.timeout(GUARD_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write(header)
        reading = asyncio.create_task(reader.read())
        with suppress(ConnectionError):
            while not reading.done():
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(0.02)
            assert (await reading).split()[1] == b"408"
        writer.close()
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


GET = b"GET /x HTTP/1.1\r\nhost: x\r\n"
POST = b"POST /x HTTP/1.1\r\nhost: x\r\n"
WEBSOCKET = (
    b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: YQ==\r\n"
)
MALFORMED = {
    "bare line feeds": b"GET /x HTTP/1.1\nhost: x\n\n",
    "one bare line feed": b"GET /x HTTP/1.1\r\nhost: x\nx-a: b\r\n\r\n",
    "folded line": GET + b"x-a: b\r\n c\r\n\r\n",
    "list of lengths": POST + b"content-length: 3, 3\r\n\r\nabc",
    "the same length twice": POST + b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc",
    "negative length": POST + b"content-length: -3\r\n\r\nabc",
    "version 9.9": b"GET /x HTTP/9.9\r\nhost: x\r\n\r\n",
    "version 1.2": b"GET /x HTTP/1.2\r\nhost: x\r\n\r\n",
    "websocket": GET + WEBSOCKET + b"\r\n",
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "empty host": b"GET /x HTTP/1.1\r\nhost: \r\n\r\n",
    "host with a long label": b"GET /x HTTP/1.1\r\nhost: " + b"a" * 64 + b".example\r\n\r\n",
    "host with an empty label": b"GET /x HTTP/1.1\r\nhost: a..example\r\n\r\n",
    "host that is none": b"GET /x HTTP/1.1\r\nhost: a/b@c\r\n\r\n",
    "tunnel": b"CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n",
    "space in a name": GET + b"x a: b\r\n\r\n",
    "query without a path": b"GET ?a=b HTTP/1.1\r\nhost: x\r\n\r\n",
    "path without a slash": b"GET x HTTP/1.1\r\nhost: x\r\n\r\n",
    "broken URL as target": b"GET http://[::1/ HTTP/1.1\r\nhost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n",
    "too large": GET + b"x-a: " + b"a" * 300_000 + b"\r\n\r\n",
    "broken chunk": POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    "too large trailer": POST
    + b"transfer-encoding: chunked\r\n\r\n0\r\nx-a: "
    + b"a" * 300_000
    + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_header_error_is_json_and_closes_connection(served, echo, name):
    answer = await served.send_bytes(MALFORMED[name])
    header, _, body = answer.partition(b"\r\n\r\n")
    assert header.split()[1] == (b"431" if name.startswith("too large") else b"400")
    assert json.loads(body).keys() == {"error"}
    assert {
        b"content-type: application/json",
        b"connection: close",
        b"access-control-allow-origin: *",
    } <= set(header.lower().split(b"\r\n"))
    assert echo.requests == []


async def test_whole_url_as_target_is_read_as_its_path_and_query(served):
    request = b"GET http://shop.example:8080/x?a=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    answer = await served.send_bytes(request)
    seen = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (seen["path"], seen["query"]) == ("/x", "a=1")


async def test_headers_of_earlier_requests_do_not_count_for_the_size_of_later_ones(served, echo):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    async with asyncio.timeout(GUARD_SECONDS):
        for _ in range(20):
            writer.write(GET + b"x-a: " + b"a" * 4_000)
            await writer.drain()
            await asyncio.sleep(0.02)  # the server reads the header in two parts
            writer.write(b"\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()
    assert len(echo.requests) == 20


async def test_http2_upgrade_is_answered_with_http1(served):
    offer = (
        b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    )
    answer = await served.send_bytes(GET + offer.replace(b"upgrade, ", b"upgrade, close, ") + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("server", ["hypercorn", "granian"])
async def test_cleartext_http2_when_enabled(echo, server):
    async with run_server(create_api_app(echo), server, cleartext_http2=True) as live:
        answer = await live.send_bytes(MALFORMED["preface of HTTP/2"] + b"\0\0\x08\7" + bytes(13))
    assert answer[3:4] == b"\4"  # a frame of settings


@pytest.mark.parametrize("server", ["hypercorn", "granian"])
async def test_flood_of_reset_streams_closes_connection(echo, server):
    client = H2Connection()
    client.initiate_connection()
    header = [(":method", "GET"), (":path", "/x"), (":scheme", "http"), (":authority", "x")]
    async with (
        run_server(create_api_app(echo), server, cleartext_http2=True) as live,
        asyncio.timeout(GUARD_SECONDS),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        reading = asyncio.create_task(reader.read())
        with suppress(ConnectionError):
            for stream in range(1, 20_001, 2):
                client.send_headers(stream, header, end_stream=True)
                client.reset_stream(stream)
                writer.write(client.data_to_send())
                await writer.drain()
            await reading
        await asyncio.wait({reading})
        writer.close()
    assert len(echo.requests) < 1_000


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_ambiguous_request_is_refused_and_closes_the_connection(served, echo, name):
    answer = await served.send_bytes(AMBIGUOUS[name] + FOLLOWING_REQUEST)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert "/smuggled" not in [request.path for request in echo.requests]
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


async def fail(scope, receive, send):
    raise RuntimeError


@pytest.mark.parametrize("server", SERVERS)
async def test_failure_of_an_application_is_no_error_of_the_client(server):
    async with run_server(fail, server) as live:
        answer = await live.send_bytes(GET + b"connection: close\r\n\r\n")
    assert answer.split()[1] == b"500"


@pytest.mark.parametrize("server", SERVERS)
async def test_trailer_is_no_header(echo, server):
    app = create_api_app(echo, addresses=ClientAddressResolver(["127.0.0.0/8"]))
    trailer = b"0\r\nx-forwarded-for: 203.0.113.9\r\n\r\n"
    async with run_server(app, server) as live:
        await live.send_bytes(
            POST + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", trailer
        )
    assert [(request.client_ip, request.body) for request in echo.requests] == [("127.0.0.1", b"{}")]


async def test_requests_in_flight_finish_after_the_stop_signal(served, echo):
    asking = asyncio.create_task(echoed_request(served, "GET", "/slow"))
    await echo.entered.wait()
    served.shutdown.set()
    await read_refusal(served.port)
    echo.release.set()
    assert (await asking)[0] == 200


class LargeAnswerAfterRelease(EchoDispatcher):
    BODY = b"a" * 5_000_000

    async def __call__(self, request):
        await super().__call__(request)
        return ApiResponse(200, {"Content-Type": "application/octet-stream"}, self.BODY)


@pytest.mark.parametrize("server", SERVERS)
async def test_answer_that_begins_long_after_the_stop_signal_is_whole(server, monkeypatch):
    module, dispatcher = "checking_relay" if server == "granian" else server, LargeAnswerAfterRelease()
    monkeypatch.setattr(f"hosts.servers.{module}.LINGER_SECONDS", 0.01)
    async with run_server(create_api_app(dispatcher), server) as live:
        asking = asyncio.create_task(live.ask("GET", "/slow"))
        await dispatcher.entered.wait()
        live.shutdown.set()
        await read_refusal(live.port)
        await asyncio.sleep(0.1)
        dispatcher.release.set()
        assert len((await asking)[2]) == len(dispatcher.BODY)


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


@pytest.mark.parametrize("server", SERVERS)
async def test_keep_alive_connection_stays_open_when_idle(echo, server):
    limits = ConnectionLimits(times=TimeLimits(idle=10 * GUARD_SECONDS))
    async with (
        run_server(create_api_app(echo), server, limits=limits) as live,
        asyncio.timeout(GUARD_SECONDS),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()


class LargeAnswers:
    """Answers with a long JSON text, at once or piece by piece."""

    BODY = json.dumps({"rows": [{"name": f"row {number}"} for number in range(20_000)]}).encode()

    async def __call__(self, request):
        headers = {"Content-Type": "application/json"}
        if request.path == "/small":
            return ApiResponse(200, headers, b"{}")
        if request.path != "/stream":
            return ApiResponse(200, headers, self.BODY)
        return ApiResponse(200, headers | {"Content-Length": str(len(self.BODY))}, open_stream=self.pieces)

    async def pieces(self):
        for start in range(0, len(self.BODY), 50_000):
            yield self.BODY[start : start + 50_000]


DECOMPRESS = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda data: zstd.ZstdDecompressor().decompress(data),
}


def unchunk(headers, content):
    """The body of an answer, however its length is told."""
    if "transfer-encoding" not in headers:
        return content
    body = b""
    while content:
        size, _, content = content.partition(b"\r\n")
        body, content = body + content[: int(size, 16)], content[int(size, 16) + 2 :]
    return body


@pytest.mark.parametrize("path", ["/v1/x", "/stream"])
@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("br;q=1.0, gzip;q=0.8", "br"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
    ],
)
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"])
async def test_large_answers_are_compressed(server, accepted, encoding, path):
    async with run_server(create_api_app(LargeAnswers()), server) as live:
        status, headers, content = await live.ask("GET", path, b"", f"accept-encoding: {accepted}")
        plain = await live.ask("GET", path)
    assert (status, headers["content-encoding"], headers["vary"]) == (200, encoding, "Accept-Encoding")
    body = unchunk(headers, content)
    assert DECOMPRESS[encoding](body) == LargeAnswers.BODY
    assert len(body) < len(LargeAnswers.BODY) / 4
    assert ("content-encoding" in plain[1], unchunk(plain[1], plain[2])) == (False, LargeAnswers.BODY)


async def test_small_answers_and_head_are_not_compressed():
    async with run_server(create_api_app(LargeAnswers()), "hypercorn") as live:
        for method, path in (("GET", "/small"), ("HEAD", "/v1/x")):
            _, headers, _ = await live.ask(method, path, b"", "accept-encoding: gzip")
            assert "content-encoding" not in headers


async def test_etag_is_strong_and_answered_with_304():
    async with run_server(create_api_app(LargeAnswers()), "hypercorn") as live:
        tags = set()
        for accepted in ("identity", "gzip", "br"):
            _, headers, _ = await live.ask("GET", "/openapi.json", b"", f"accept-encoding: {accepted}")
            tags.add(headers["etag"])
            status, again, content = await live.ask(
                "GET",
                "/openapi.json",
                b"",
                f"accept-encoding: {accepted}",
                f"if-none-match: {headers['etag']}",
            )
            assert (status, content, again["etag"]) == (304, b"", headers["etag"])
        other = await live.ask("GET", "/openapi.json", b"", 'if-none-match: "other"')
        assert "etag" not in (await live.ask("GET", "/v1/x"))[1]
    assert other[0] == 200
    assert len(tags) == 3
    assert all(re.fullmatch(r'"[\w-]+"', tag) for tag in tags)


@pytest.mark.parametrize(
    "sent",
    ["", "x-request-id: a b", "x-request-id: " + "a" * 65, 'x-request-id: a"b', "x-request-id: order-7.b_C"],
)
async def test_every_answer_has_a_request_id(served, sent):
    answers = [await served.ask("GET", "/x", b"", *([sent] if sent else ())) for _ in range(2)]
    ids = {headers["x-request-id"] for _, headers, _ in answers}
    assert ids == {"order-7.b_C"} if sent.endswith("b_C") else len(ids) == 2
    assert all(re.fullmatch(r"[\w.-]{1,64}", id_) for id_ in ids)
