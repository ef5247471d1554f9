"""What the adapter of granian adds to it: a relay in front, and bodies that are not awaited."""

import pytest

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
