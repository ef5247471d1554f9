"""What the adapter of granian adds to it: a relay in front, and bodies that are not awaited."""

import asyncio
import socket

import pytest

from hosts.servers import checking_relay
from hosts.servers.checking_relay import CheckingRelay
from hosts.servers.connection_limits import ConnectionLimits
from hosts.servers.granian import skip_absent_bodies

LENGTH = (b"content-length", b"2")
CHUNKED = (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("version", "headers", "expected"),
    [
        ("1.1", [], b""),
        ("1.1", [(b"content-length", b"0")], b""),
        ("1.1", [LENGTH], b"{}"),
        ("1.1", [CHUNKED], b"{}"),
        ("2", [], b"{}"),
    ],
)
async def test_body_is_asked_for_only_where_a_header_may_mean_one(version, headers, expected):
    bodies = []

    async def app(_scope, receive, _send):
        bodies.extend([(await receive())["body"], (await receive())["type"]])

    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive():
        return messages.pop()

    if not expected:
        messages.pop()
    await skip_absent_bodies(app)({"http_version": version, "headers": headers}, receive, None)
    assert bodies == [expected, "http.disconnect"]


class RunCounter:
    """A connection that counts what runs for it."""

    peer = ("203.0.113.9", 1)
    runs = 0

    def start_running(self):
        self.runs += 1

    def finish_running(self):
        pass


async def test_connection_that_has_a_port_again_is_still_known_when_its_predecessor_ends():
    relay = CheckingRelay(None, ("127.0.0.1", 1), ConnectionLimits(), http2=False)
    before, connection, clients = RunCounter(), RunCounter(), []

    async def app(scope, _receive, _send):
        clients.append(scope["client"])

    relay.register(before, 5)
    relay.register(connection, 5)
    relay.unregister(before, 5)
    served = relay.serve_relayed(app)
    await served({"client": ("127.0.0.1", 5)}, None, None)
    await served({"client": ("127.0.0.2", 5)}, None, None)
    assert (clients, before.runs, connection.runs) == ([connection.peer], 0, 1)


async def test_answer_whose_server_pauses_is_relayed_whole_to_a_client_that_only_reads(monkeypatch):
    """The server behind may get no processor for longer than a connection lingers."""
    monkeypatch.setattr(checking_relay, "LINGER_SECONDS", 0.05)
    has_lingered, body = asyncio.Event(), b"a" * 1000

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": body})

    async def serve_in_two_parts(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        scope = {"method": "GET", "http_version": "1.1", "client": writer.get_extra_info("peername")}
        await relayed_app(scope, None, lambda _message: asyncio.sleep(0))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + body[:100])
        await has_lingered.wait()
        writer.write(body[100:])
        await reader.read()
        writer.close()

    backend = await asyncio.start_server(serve_in_two_parts, "127.0.0.1", 0)
    listener, stop = socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    relay = CheckingRelay(listener, backend.sockets[0].getsockname(), ConnectionLimits(), http2=False)
    relayed_app = relay.serve_relayed(app)
    relaying = asyncio.create_task(relay.relay_until(stop))
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    answer = await reader.readuntil(body[:100])
    writer.write_eof()
    await asyncio.sleep(0.2)
    has_lingered.set()
    answer += await reader.read()
    assert answer.endswith(b"\r\n\r\n" + body)
    writer.close()
    stop.set()
    await relaying
    backend.close()
    await backend.wait_closed()
