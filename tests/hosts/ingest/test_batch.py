"""`POST /` and `POST /batch` for browsers: they send many events without a secret."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.ingest.run import create_ingest_host_app
from hosts.monitoring.canary import CANARY_WORKSPACE
from hosts.worker import consumer
from hosts.worker.consumer import build_ingest_pipeline
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult
from service_core.ingestion.transforms.models import FailurePolicy, Transform
from service_core.ingestion.transforms.run_transforms import EventTransforms
from tests.analytics.deployment import NOW, run_deployment
from tests.fixtures.port_stubs import ReplacedPorts

ORIGIN = "https://shop.example"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
NO_NAME = "Event name is required (event or event_name field)"
NO_IDENTITY = "Identity required: provide distinct_id, user_id, anonymous_id, or visitor_id"


def page_view(event_id=None, **fields):
    named = {"event_id": event_id} if event_id else {}
    return {"event": "page_view", "visitor_id": "v1"} | named | fields


class BatchHost:
    """The ingest host of a deployment, and the consumer behind it."""

    def __init__(self, served, client):
        self.served, self.client, self.ports = served, client, served.service.ports
        self.app = create_ingest_host_app(served.service.settings, self.ports)
        self.pipeline = build_ingest_pipeline(self.ports, served.service.settings)

    async def ask(
        self, body=b"", *, path="/batch", method="POST", origin=ORIGIN, headers=(), user_agent=CHROME
    ):
        sent = [{"type": "http.request", "body": body, "more_body": False}]
        out = []

        async def receive():
            return sent.pop()

        async def send(message):
            out.append(message)

        raw = [(b"host", b"ingest"), (b"user-agent", user_agent.encode())]
        raw += [(name.encode(), value.encode()) for name, value in headers if name != "user-agent"]
        raw += [(b"origin", origin.encode())] if origin else []
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "client": ("203.0.113.7", 1)}
        await self.app(scope, receive, send)
        values = {name.decode(): value.decode() for name, value in out[0]["headers"]}
        return out[0]["status"], json.loads(out[1]["body"]) if out[1]["body"] else None, values

    async def batch(self, *events, **how):
        body = {"workspace_id": self.client.workspace.public_id, "events": list(events)}
        return await self.ask(json.dumps(body).encode(), **how)

    async def rejected(self, *events):
        return [(each["index"], each["error"]) for each in (await self.batch(*events))[1]["rejected"]]

    async def save(self, **changes):
        await self.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
            replace(self.client.workspace, **changes)
        )

    async def drain(self):
        while await self.pipeline.process_batch():
            pass

    async def events(self):
        await self.drain()
        found = await self.client.get("/events", start_date="2026-07-08", end_date="2026-07-08", limit=500)
        return found["events"]

    async def ledger_rows(self, received):
        """The row of batches, once so many events are counted: what was refused is written within a second."""
        async with asyncio.timeout(30):
            while True:
                answer = await self.client.get("/ledger", start_date="2026-07-08", end_date="2026-07-08")
                assert answer["balanced"]
                rows = [row for row in answer["rows"] if row["channel"] == "batch"]
                if sum(row["received"] for row in rows) >= received:
                    (row,) = rows
                    assert row["key_id"] == str(self.client.workspace.id)
                    return row
                await asyncio.sleep(0.01)


@pytest.fixture
async def host(tmp_path):
    async with run_deployment("memory", tmp_path) as served:
        yield BatchHost(served, await served.workspace(timezone="UTC"))


@pytest.mark.parametrize("path", ["/", "/batch"])
async def test_every_event_of_a_batch_is_stored_as_web(host, path):
    first = page_view("e1", properties={"url": "https://shop.example/a"}, context={"session_id": "s1"})
    second = page_view(
        "e2", event_data={"url": "https://shop.example/b"}, session_id="s1", workspace_id="other"
    )
    status, result, _ = await host.batch(first, second, path=path)
    assert (status, result) == (
        200, {"success": True, "received": 2, "accepted": 2, "duplicates": 0, "rejected": []},
    )  # fmt: skip
    rows = {row["event_id"]: row for row in await host.events()}
    assert {row["source"] for row in rows.values()} == {"web"}
    assert [rows[one]["page_path"] for one in ("e1", "e2")] == ["/a", "/b"]
    assert {(row["session_id"], row["session_origin"]) for row in rows.values()} == {("s1", "client")}
    assert {row["browser"] for row in rows.values()} == {"Chrome"}


async def test_transforms_of_the_settings_drop_and_change_what_browsers_send(host):
    tables = {
        "transform_drop": {"paths": ["/admin/*"], "addresses": ["198.51.100.0/24"]},
        "transform_redact": {"emails": True},
        "transform_campaigns": {"lower_case": True},
    }
    settings = host.served.service.settings
    plugins = settings.plugins.model_validate(tables)
    host.pipeline = build_ingest_pipeline(host.ports, settings.model_copy(update={"plugins": plugins}))
    url = "https://shop.example/a?mail=ada%40shop.example&utm_source=News"
    sent = page_view("e1", properties={"url": url, "utm_source": "News"})
    await host.batch(sent, page_view("e2", properties={"url": "https://shop.example/admin/x"}))
    (stored,) = await host.events()
    assert (stored["event_id"], stored["utm_source"]) == ("e1", "news")
    assert stored["page_url"] == "https://shop.example/a?mail=redacted&utm_source=news"
    row = await host.ledger_rows(2)
    assert (row["stored"], row["rejected_by_reason"]) == (1, {"dropped:drop:path": 1})
    assert row["ignored_by_reason"] == {"removed:redact": 1}
    assert (await host.batch(page_view("e2")))[1]["duplicates"] == 1


@pytest.mark.parametrize(("policy", "stored"), list(zip(FailurePolicy, ([1, "e1"], [0, None]), strict=True)))
async def test_answers_over_the_hours_of_a_failing_transform_are_incomplete(
    host, monkeypatch, policy, stored
):
    def fail(columns):
        raise RuntimeError("no table")

    failing = Transform(
        id="t", label="T", reads=("properties.plan",), writes=(), build=lambda _: fail, on_failure=policy
    )
    transforms = EventTransforms([(failing, fail)])
    monkeypatch.setattr(consumer, "build_event_transforms", lambda *_: transforms)
    host.pipeline = build_ingest_pipeline(host.ports, host.served.service.settings)
    await host.batch(page_view("e1", timestamp="2026-07-07T10:30:00Z"))
    of_canary = (CANARY_WORKSPACE.id, CANARY_WORKSPACE.id, IngestEndpoint.TRACK, "c1", True, NOW)
    await host.ports.queue.offer(
        ReceivedEvent(*of_canary, b'{"event":"canary","user_id":"c"}', None, None, {})
    )
    assert len(await host.events()) == 0
    assert await host.ports.queue.take(1) == []
    for day, is_complete in (("2026-07-06", True), ("2026-07-07", False), ("2026-07-08", True)):
        span = {"start_date": day, "end_date": day}
        listed = await host.client.get("/events", **span)
        assert listed["complete"] is (await host.client.get("/overview", **span))["complete"] is is_complete
        assert [row["event_id"] for row in listed["events"]] == [
            stored[1] for _ in range(stored[0]) if not is_complete
        ]
    others = await host.served.workspace(timezone="UTC")
    assert (await others.get("/events", start_date="2026-07-07", end_date="2026-07-07"))["complete"]


async def test_repeat_in_a_batch_and_across_batches_counts_as_a_duplicate(host):
    assert (await host.batch(page_view("a"), page_view("b"), page_view("a")))[1] == {
        "success": True, "received": 3, "accepted": 2, "duplicates": 1, "rejected": [],
    }  # fmt: skip
    again = (await host.batch(page_view("b"), page_view("c"), page_view()))[1]
    assert (again["accepted"], again["duplicates"]) == (2, 1)
    unnamed = (await host.batch(page_view(), page_view()))[1]
    assert (unnamed["accepted"], unnamed["duplicates"]) == (2, 0)
    assert len(await host.events()) == 6


async def test_batch_and_track_share_their_event_ids(host):
    assert (await host.batch(page_view("a")))[1]["accepted"] == 1
    tracked = (await host.ports.queue.take(1))[0].arrival._replace(channel=IngestEndpoint.TRACK)
    assert await host.ports.queue.offer(tracked) is EnqueueResult.QUEUED  # it has a key: the claim gives way
    assert await host.ports.queue.offer(tracked) is EnqueueResult.DUPLICATE
    assert (await host.batch(page_view("a")))[1]["duplicates"] == 1


async def test_one_invalid_event_does_not_fail_the_others(host):
    deep = page_view("deep", properties={"a": json.loads("[" * 300 + "]" * 300)})
    status, result, _ = await host.batch(
        page_view("good"),
        {"event_id": "n", "user_id": "u"},
        {"event": "x", "event_id": 7},
        "text",
        None,
        deep,
    )
    assert (status, result["received"], result["accepted"]) == (200, 6, 2)
    assert result["rejected"] == [
        {"index": 1, "event_id": "n", "error": NO_NAME},
        {"index": 2, "event_id": "7", "error": NO_IDENTITY},
        {"index": 3, "event_id": None, "error": "Invalid JSON in request body"},
        {"index": 4, "event_id": None, "error": "Invalid JSON in request body"},
    ]
    assert {row["event_id"] for row in await host.events()} == {"good", "deep"}
    row = await host.ledger_rows(6)
    assert (row["stored"], row["in_flight"], row["rejected_by_reason"]) == (
        2, 0, {"no_event_name": 1, "no_identity": 1, "invalid_json": 2},
    )  # fmt: skip


async def test_empty_batch_is_accepted(host):
    assert (await host.batch())[:2] == (
        200, {"success": True, "received": 0, "accepted": 0, "duplicates": 0, "rejected": []},
    )  # fmt: skip


async def test_batch_has_at_most_500_events(host):
    assert (await host.batch(*map(page_view, map(str, range(500)))))[1]["accepted"] == 500
    host.served.now = NOW.replace(second=1)
    status, result, _ = await host.batch(*map(page_view, map(str, range(501))))
    assert (status, list(result)) == (413, ["error"])
    row = await host.ledger_rows(1001)
    assert (row["in_flight"], row["rejected_by_reason"]) == (500, {"too_large": 501})


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"x" * 256_001, 413, "Payload too large. Maximum size is 256KB."),
        (b" \n", 400, "Request body is required"),
        (b"{", 400, "Invalid JSON in request body"),
        (b"[]", 400, "Invalid JSON in request body"),
        (b'{"events":[]}', 401, "Invalid API key"),
        (b'{"workspace_id":"unknown","events":[]}', 401, "Invalid API key"),
        (b'{"workspace_id":null,"events":[]}', 401, "Invalid API key"),
    ],
)
async def test_invalid_batch_error_is_readable_across_origins(host, body, status, error):
    found, result, headers = await host.ask(body)
    assert (found, result) == (status, {"error": error})
    assert headers["access-control-allow-origin"] == ORIGIN
    assert headers["access-control-allow-credentials"] == "true"


async def test_body_at_the_size_limit_is_accepted(host):
    body = json.dumps({"workspace_id": host.client.workspace.public_id, "events": [page_view("a")]}).encode()
    assert (await host.ask(body.ljust(256_000)))[1]["accepted"] == 1


async def test_body_without_an_array_of_events_is_counted_as_one(host):
    status, _, _ = await host.ask(json.dumps({"workspace_id": host.client.workspace.public_id}).encode())
    assert status == 400
    assert (await host.ledger_rows(1))["rejected_by_reason"] == {"invalid_json": 1}


async def test_inactive_workspace_refuses_batches(host):
    await host.save(active=False)
    assert (await host.batch(page_view()))[:2] == (401, {"error": "Invalid API key"})


async def test_only_allowed_origins_can_send(host):
    assert (await host.batch(page_view(), origin=None))[0] == 200
    await host.save(allowed_origins=(ORIGIN,))
    assert (await host.batch(page_view()))[0] == 200
    for origin in ("https://evil.example", "null", None):
        assert (await host.batch(page_view(), origin=origin))[:2] == (403, {"error": "Origin not allowed"})


async def test_batches_are_limited_to_1000_events_per_second_and_workspace(host):
    many = [page_view() for _ in range(499)]
    for _ in range(2):
        assert (await host.batch(*many))[0] == 200
    status, result, headers = await host.batch(page_view(), page_view(), page_view())
    assert (status, headers["retry-after"]) == (429, "1")
    assert result == {"error": "Rate limit exceeded. Maximum 1000 events per second."}
    assert (await host.batch(page_view(), page_view()))[0] == 200
    host.served.now = NOW.replace(second=1)
    assert (await host.batch(*many))[0] == 200
    row = await host.ledger_rows(1502)
    assert (row["in_flight"], row["rejected_by_reason"]) == (1499, {"rate_limited": 3})


async def test_preflight_allows_credentials(host):
    for path in ("/", "/batch"):
        status, _, headers = await host.ask(path=path, method="OPTIONS")
        assert (status, headers["access-control-allow-origin"], headers["vary"]) == (204, ORIGIN, "Origin")
        assert headers["access-control-allow-credentials"] == "true"
        assert headers["access-control-allow-headers"] == "Content-Type, X-Batch-Size, X-Container-Version"
    assert (await host.ask(method="GET"))[0] == 405
    assert (await host.ask(path="/", method="GET"))[0] == 404


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/json", "image/png", ""])
async def test_beacon_content_type_is_ignored(host, kind):
    assert (await host.batch(page_view(), headers=[("content-type", kind)] if kind else []))[0] == 200


async def test_client_address_and_languages_are_recorded(host):
    await host.batch(page_view("a"), page_view("b", ip="0"), headers=[("accept-language", "de-DE,de;q=0.9")])
    rows = [row.arrival for row in await host.ports.queue.take(10)]
    assert {row.address for row in rows} == {"203.0.113.7"}
    assert {row["language"] for row in await host.events()} == {"de-DE"}


class Failing:
    """A queue that does not keep some events."""

    def __init__(self, queue, make_queue_fail=None):
        self._queue, self._failing = queue, make_queue_fail

    async def offer_all(self, arrivals):
        if self._failing is None:
            raise EnqueueFailed("queue")
        kept = [each for each in arrivals if each.event_id not in self._failing]
        outcomes = iter(await self._queue.offer_all(kept))
        return [
            EnqueueFailed("claim") if each.event_id in self._failing else next(outcomes) for each in arrivals
        ]

    async def count_rejected(self, *args, **kwargs):
        await self._queue.count_rejected(*args, **kwargs)


@pytest.fixture
def make_queue_fail(host, monkeypatch):
    def fail(ids=None):
        ports = host.ports
        queue = Failing(ports.queue, ids)
        host.app = create_ingest_host_app(host.served.service.settings, ReplacedPorts(ports, queue=queue))

    return fail


async def test_failing_queue_returns_the_same_error_as_track(host, make_queue_fail):
    make_queue_fail()
    answer = await host.batch(page_view("a"), {"event": "x"}, page_view("b"))
    assert answer[:2] == (500, {"error": "Failed to enqueue event", "details": "queue"})
    row = await host.ledger_rows(3)
    assert row["rejected_by_reason"] == {"no_identity": 1, "enqueue_failed": 2}


async def test_partly_failing_queue_lists_the_failed_events(host, make_queue_fail):
    make_queue_fail({"b"})
    _, result, _ = await host.batch(page_view("a"), page_view("b"), {"event": "x"}, page_view("c"))
    assert (result["accepted"], [(each["index"], each["error"]) for each in result["rejected"]]) == (
        2, [(1, "Failed to enqueue event"), (2, NO_IDENTITY)],
    )  # fmt: skip
    row = await host.ledger_rows(4)
    assert (row["in_flight"], row["rejected"]) == (2, 2)


async def test_browser_events_are_listed_as_web_in_the_setup_guide(host):
    await host.batch(page_view("a"))
    await host.drain()
    answer = await host.client.get("/onboarding")
    assert answer["tracking"]["sdk_detected"] == ["web"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
ANY_EVENT = JSON | st.fixed_dictionaries(
    {"event": JSON | st.just("x")},
    optional={
        "visitor_id": JSON,
        "event_id": st.sampled_from("abc") | JSON,
        "properties": JSON,
        "event_data": JSON,
    },
)


@settings(max_examples=4)
@given(bodies=st.lists(st.lists(ANY_EVENT, max_size=12), min_size=1, max_size=8))
def test_every_batched_event_is_answered_and_in_the_ledger(tmp_path_factory, bodies):
    async def send():
        async with run_deployment("memory", tmp_path_factory.mktemp("any")) as served:
            host = BatchHost(served, await served.workspace(timezone="UTC"))
            accepted = 0
            for body in bodies:
                status, result, _ = await host.batch(*body)
                assert status == 200
                assert result["received"] == len(body)
                assert len(body) == result["accepted"] + result["duplicates"] + len(result["rejected"])
                accepted += result["accepted"]
            await host.drain()
            if sent := sum(map(len, bodies)):
                row = await host.ledger_rows(sent)
                assert row["stored"] + row["quarantined"] == accepted

    asyncio.run(send())
