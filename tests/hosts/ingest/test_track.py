"""`POST /track` over HTTP: the order of checks, the exact texts, what is counted."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import orjson
import pytest

from hosts.client_address import ClientAddressResolver
from hosts.ingest.app import IngestDependencies, create_ingest_app
from hosts.ingest.error_answers import QueueFailureLog
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.write_key_cache import WriteKeyCache
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.models import AuthContext, Credential, CredentialKind, Workspace
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.ports import EnqueueFailed
from service_core.ingestion.track import SenderRateLimit
from service_core.kernel.ids import sha256_hex
from tests.fixtures.stub_queues import StubIngestQueue

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
KEY, OTHER_KEY, ASLEEP = "dk_" + "a" * 32, "dk_" + "b" * 32, "dk_" + "c" * 32
GOOD = b'{"event":"purchase","user_id":"u","event_id":"order_1"}'


def auth_context(*, active: bool = True) -> AuthContext:
    workspace = Workspace(
        id=uuid4(), public_id="k3Jx9QmZ2aPr", name="W", domain=None, timezone="UTC", currency="USD",
        plan="unlimited", active=active, created_at=NOW, secret=b"s",
    )  # fmt: skip
    credential = Credential(
        id=uuid4(), workspace_id=workspace.id, kind=CredentialKind.WRITE, name="W", scopes=frozenset(),
        rate_limit=1000, hint="", created_at=NOW,
    )  # fmt: skip
    return AuthContext(credential, workspace)


class Keys:
    """A directory that knows three write keys and counts how often it is asked."""

    def __init__(self):
        self.asked = self.changes = 0
        self.known = {
            sha256_hex(KEY): auth_context(), sha256_hex(OTHER_KEY): auth_context(), sha256_hex(ASLEEP): auth_context(active=False),
        }  # fmt: skip

    async def find_auth_context(self, key_digest):
        self.asked += 1
        return self.known.get(key_digest)

    def change_version(self):
        return self.changes


class TrackHost:
    """The ingest host around a queue in memory, with a clock that stands still."""

    def __init__(self, others=None, **dependencies):
        self.queue, self.keys, self.now = StubIngestQueue(), Keys(), NOW
        self.dependencies = IngestDependencies(
            queue=self.queue,
            write_keys=WriteKeyCache(KeyAuthenticator(self.keys, lambda: self.now), self.keys),
            spend_quota=SenderRateLimit().count_events_unless_second_is_full,
            clock=lambda: self.now,
            **dependencies,
        )
        self.app = create_ingest_app(self.dependencies, others)

    async def ask(
        self, body=GOOD, *, method="POST", path="/track", key=KEY, headers=(), client=("192.0.2.1", 5)
    ):
        sent = [(b"host", b"ingest"), *([(b"x-api-key", key.encode())] if key is not None else [])]
        sent += [(name.encode(), value.encode("latin-1")) for name, value in headers]
        parts = body if isinstance(body, list) else [body]
        waiting = [
            {"type": "http.request", "body": part, "more_body": n < len(parts)}
            for n, part in enumerate(parts, 1)
        ]
        out = []

        async def receive():
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message):
            out.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": sent, "client": client}
        await self.app(scope, receive, send)
        self.unread = len(waiting)
        if not out:
            return None
        start, rest = out
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        assert names["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in names
        return start["status"], orjson.loads(rest["body"]) if rest["body"] else None, names


@pytest.fixture
def host():
    return TrackHost()


def error_response(status, text, **more):
    return status, {"error": text, **more}


MISSING = error_response(
    401, "Missing API key. Please provide X-API-Key header or Authorization Bearer token."
)
INVALID = error_response(401, "Invalid API key")
TOO_LARGE = error_response(413, "Payload too large. Maximum size is 256KB.")
LIMITED = error_response(429, "Rate limit exceeded. Maximum 1000 requests per second.")
NO_BODY = error_response(400, "Request body is required")
BAD_JSON = error_response(400, "Invalid JSON in request body")
NO_NAME = error_response(400, "Event name is required (event or event_name field)")
NO_IDENTITY = error_response(
    400, "Identity required: provide distinct_id, user_id, anonymous_id, or visitor_id"
)


async def test_response_contains_event_name_and_public_workspace_id(host):
    status, body, headers = await host.ask()
    assert (status, body) == (200, {"success": True, "event": "purchase", "workspace": "k3Jx9QmZ2aPr"})
    assert headers["content-type"] == "application/json"
    (kept,) = host.queue.arrivals
    assert (kept.body, kept.event_id, kept.claimed, kept.received_at) == (GOOD, "order_1", True, NOW)


async def test_preflight_is_answered_before_anything_else(host):
    status, body, headers = await host.ask(b"x" * 300_000, method="OPTIONS", key=None)
    assert (status, body) == (204, None)
    assert headers["access-control-allow-headers"] == "Content-Type, X-API-Key, Authorization"
    assert headers["access-control-allow-methods"] == "POST, OPTIONS"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
async def test_wrong_method_is_refused_without_a_key(host, method):
    assert (await host.ask(method=method, key=None))[:2] == error_response(405, "Method not allowed")


@pytest.mark.parametrize("path", ["/", "/track/", "/Track", "/v1/track"])
async def test_unknown_path_is_not_found(host, path):
    assert (await host.ask(path=path))[:2] == error_response(404, "Not found")


async def test_unknown_path_is_forwarded_to_the_next_application():
    async def others(scope, _receive, send):
        await send(
            {
                "type": "http.response.start",
                "status": 299,
                "headers": [(b"access-control-allow-origin", b"*")],
            }
        )
        await send({"type": "http.response.body", "body": b""})

    host = TrackHost(others)
    assert (await host.ask(path="/batch"))[0] == 299
    assert (await host.ask())[0] == 200


@pytest.mark.parametrize(
    ("given", "expected", "counted"),
    [
        ({"body": b"x" * 256_001, "key": None}, TOO_LARGE, []),
        ({"body": b"x" * 256_001, "key": "wrong"}, TOO_LARGE, []),
        ({"body": b"x" * 256_001}, TOO_LARGE, [RejectionReason.TOO_LARGE]),
        ({"body": b" " * 256_000}, NO_BODY, [RejectionReason.NO_BODY]),
        ({"body": b"", "key": None}, MISSING, []),
        ({"key": ""}, MISSING, []),
        ({"key": None, "headers": [("authorization", "Basic abc")]}, MISSING, []),
        ({"body": b"", "key": "wrong"}, INVALID, []),
        ({"key": "dk_" + "a" * 300}, INVALID, []),
        ({"key": "dk_agent_" + "a" * 43}, INVALID, []),
        ({"key": ASLEEP}, INVALID, []),
        ({"key": "wrong", "headers": [("authorization", f"Bearer {KEY}")]}, INVALID, []),
        ({"body": b""}, NO_BODY, [RejectionReason.NO_BODY]),
        ({"body": b" \n\t"}, NO_BODY, [RejectionReason.NO_BODY]),
        ({"body": b"{"}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b"[1]"}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b'"text"'}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b'{"event":NaN}'}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b'{"event":"\xff"}'}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b'{"event":"\\ud800"}'}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": '{"event":"a","user_id":"u"}'.encode("utf-16")}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b"[" * 256_000}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b'{"a":' * 51_000}, BAD_JSON, [RejectionReason.INVALID_JSON]),
        ({"body": b"{}"}, NO_NAME, [RejectionReason.NO_EVENT_NAME]),
        ({"body": b'{"events":[{"event":"a","user_id":"u"}]}'}, NO_NAME, [RejectionReason.NO_EVENT_NAME]),
        ({"body": b'{"event":"a","user_id":"u","events":[]}'}, NO_NAME, [RejectionReason.NO_EVENT_NAME]),
        ({"body": b'{"event":"a"}'}, NO_IDENTITY, [RejectionReason.NO_IDENTITY]),
        ({"body": b'{"event":"a","user_id":" "}'}, NO_IDENTITY, [RejectionReason.NO_IDENTITY]),
    ],
)  # fmt: skip
async def test_rejection_names_the_first_error_and_is_counted_for_known_keys(host, given, expected, counted):
    assert (await host.ask(**given))[:2] == expected
    assert host.queue.rejected == counted
    assert host.queue.arrivals == []


async def test_write_key_can_be_a_bearer_token_and_empty_headers_are_ignored(host):
    bearer = [("authorization", f"bearer {KEY}")]
    assert (await host.ask(key=None, headers=bearer))[0] == 200
    assert (await host.ask(key="", headers=bearer))[1]["success"] is False


async def test_workspace_is_that_of_the_key_and_not_of_the_body(host):
    await host.ask(b'{"event":"a","user_id":"u","workspace_id":"other"}', key=OTHER_KEY)
    (kept,) = host.queue.arrivals
    assert kept.workspace_id == host.keys.known[sha256_hex(OTHER_KEY)].workspace.id


async def test_repeat_is_a_duplicate_with_status_200(host):
    await host.ask()
    status, body, _ = await host.ask()
    assert (status, body) == (
        200, {"success": False, "error": "Duplicate event detected", "event_id": "order_1"},
    )  # fmt: skip


async def test_event_without_an_id_is_never_a_duplicate(host):
    for _ in range(2):
        assert (await host.ask(b'{"event":"a","user_id":"u"}'))[1]["success"] is True
    assert [a.claimed for a in host.queue.arrivals] == [False, False]


async def test_key_is_limited_to_1000_requests_per_second(host):
    answers = [await host.ask(b'{"event":"a","user_id":"u"}') for _ in range(1001)]
    assert [a[0] for a in answers] == [200] * 1000 + [429]
    assert answers[-1][:2] == LIMITED
    assert answers[-1][2]["retry-after"] == "1"
    assert host.queue.rejected == [RejectionReason.RATE_LIMITED]
    assert (await host.ask(key=OTHER_KEY))[0] == 200
    host.now += timedelta(seconds=1)
    assert (await host.ask())[0] == 200


async def test_invalid_bodies_spend_quota_and_unknown_keys_do_not(host):
    for _ in range(1000):
        await host.ask(b"{")
    assert (await host.ask())[0] == 429
    assert (await host.ask(key="wrong"))[:2] == INVALID


@pytest.mark.parametrize("detail", ["queue", "claim"])
async def test_failing_queue_returns_500_and_a_retry_is_accepted(host, detail):
    host.queue.fault = EnqueueFailed(detail)
    status, body, _ = await host.ask()
    assert (status, body) == error_response(500, "Failed to enqueue event", details=detail)
    assert host.queue.rejected == [RejectionReason.ENQUEUE_FAILED]
    host.queue.fault = None
    assert (await host.ask())[1]["success"] is True


async def test_failing_queue_is_logged_once_with_its_reason(caplog):
    seconds = iter((0.0, 1.0, 9.9, 10.0))
    host = TrackHost(queue_failures=QueueFailureLog(lambda: next(seconds)))
    host.queue.fault = EnqueueFailed("queue", OSError("disk is full"))
    for _ in range(4):
        await host.ask()
    assert [(line.events, line.reason) for line in caplog.records] == [
        (1, "OSError: disk is full"),
        (3, "OSError: disk is full"),
    ]


async def test_handler_error_returns_500_with_an_id(host, caplog):
    host.queue.fault = RuntimeError("boom")
    status, body, headers = await host.ask()
    assert (status, body["error"]) == (500, "Internal server error")
    assert body["error_id"] == headers["x-error-id"] == caplog.records[0].error_id


async def test_body_that_is_too_large_is_read_to_its_end_before_the_answer(host):
    assert (await host.ask([b"x" * 65_536] * 40))[:2] == TOO_LARGE
    assert host.unread == 0


async def test_reading_of_an_oversized_body_is_bounded(host):
    assert (await host.ask([b"x" * 1_000_000] * 30))[:2] == TOO_LARGE
    assert host.unread > 0


async def test_body_in_parts_is_one_body(host):
    assert (await host.ask([GOOD[:10], b"", GOOD[10:]]))[1]["success"] is True
    assert host.queue.arrivals[0].body == GOOD


async def test_reading_stops_at_the_content_length(host):
    sized = [("content-length", str(len(GOOD)))]
    assert (await host.ask([GOOD, b""], headers=sized))[1]["success"] is True
    assert host.unread == 1
    assert (await host.ask([GOOD[:9], GOOD[9:], b""], headers=sized, key=OTHER_KEY))[1]["success"] is True
    assert host.unread == 1
    assert [kept.body for kept in host.queue.arrivals] == [GOOD, GOOD]


SILENT = {"type": "http", "method": "POST", "path": "/track", "headers": [(b"host", b"h")], "client": None}


async def test_disconnected_client_sends_no_event(host):
    out = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        out.append(message)

    await host.app(SILENT, receive, send)
    assert host.queue.arrivals == []
    assert out[0]["status"] == 400


async def test_stalled_request_body_times_out():
    host, out = TrackHost(read_timeout=ReadTimeout(0.01)), []

    async def send(message):
        out.append(message)

    await host.app(SILENT, asyncio.Event().wait, send)
    assert out[0]["status"] == 408
    assert orjson.loads(out[1]["body"])["error"]
    assert (await host.ask())[0] == 200


async def test_server_shutdown_is_not_reported_as_a_slow_body(host):
    task = asyncio.create_task(host.app(SILENT, asyncio.Event().wait, None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_ambiguous_request_is_refused(host):
    assert (await host.ask(headers=[("transfer-encoding", "chunked"), ("content-length", "5")]))[0] == 400
    assert (await host.ask(headers=[("x-api-key", OTHER_KEY)]))[0] == 400
    assert host.queue.arrivals == []


async def test_revoked_key_is_rejected_on_the_next_request(host):
    assert (await host.ask())[0] == 200
    del host.keys.known[sha256_hex(KEY)]
    host.keys.changes += 1
    assert (await host.ask())[:2] == INVALID


async def test_content_encoding_is_not_decoded(host):
    assert (await host.ask(b"\x1f\x8b\x08" + b"\x00" * 500, headers=[("content-encoding", "gzip")]))[
        :2
    ] == BAD_JSON


async def test_headers_used_by_enrichment_are_queued(host):
    await host.ask(
        headers=[
            ("user-agent", "Mozilla/5.0"),
            ("accept-language", "de"),
            ("cookie", "x=1"),
            ("purpose", "prefetch"),
        ]
    )
    (kept,) = host.queue.arrivals
    assert kept.user_agent == "Mozilla/5.0"
    assert kept.headers == {"accept-language": "de", "purpose": "prefetch"}


async def test_forwarded_address_is_accepted_from_trusted_proxies_only():
    host = TrackHost(addresses=ClientAddressResolver(["10.0.0.0/8"]))
    forwarded = [("x-forwarded-for", "198.51.100.9, 203.0.113.7, 10.1.1.1")]
    plain = b'{"event":"a","user_id":"u"}'
    await host.ask(plain, headers=forwarded, client=("10.0.0.1", 1))
    await host.ask(plain, headers=forwarded, client=("192.0.2.1", 1))
    await host.ask(plain, headers=[("x-forwarded-for", "nonsense")], client=("10.0.0.1", 1))
    assert [a.address for a in host.queue.arrivals] == ["203.0.113.7", "192.0.2.1", "10.0.0.1"]


async def test_known_key_is_looked_up_once(host):
    for _ in range(5):
        await host.ask()
    assert host.keys.asked == 1
