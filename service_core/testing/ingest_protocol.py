"""The conformance kit of ingest protocols: recorded requests, damaged ones, wrong keys, repeats and refusals.

Write each request that a published client sends as a function of its key, and override the fixture ``harness``; pytest
needs ``asyncio_mode = "auto"``::

    def page_view(key):
        body = json.dumps({"site": key, "name": "page"}).encode()
        return RecordedRequest("/my/event", body)


    class TestMyProtocol(IngestProtocolConformance):
        @pytest.fixture
        def harness(self):
            return ProtocolHarness(MyProtocol(), {"page view": RecordedSample(page_view, 1)})
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

import pytest

from service_core.access.models import AuthContext, Credential, CredentialKind
from service_core.access.workspace_cache import WorkspaceCache
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent, RejectionReason
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.protocols.endpoint import ClientContext, ProtocolEndpoint
from service_core.ingestion.protocols.models import (
    ProtocolRequest,
    ProtocolResponse,
    RequestRefusal,
)
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.protocols.routes import ProtocolRoutes
from service_core.testing.ingestion_stubs import FIREFOX, NOON, make_workspace

WRITE_KEY: Final = "dk_" + "5" * 32
PUBLIC_ID: Final = "k3Jx9QmZ2aPr"
SITE_ID: Final = "G-SITE42"
UNKNOWN_KEY: Final = "zzzzzzzzzzzz"
ORIGIN: Final = "https://example.com"

_FIRST_ERROR: Final = 400
_SERVER_ERROR: Final = 500
_GARBAGE: Final = (
    *(b"", b" ", b"null", b"[]", b"{}", b"0", b'"text"', b"{", b"[[[[", b"\x00\xff\xfe", b"\x1f\x8b\x08\x00"),
    *(b"data=", b"data=%7B", b"data=e30%3D", b"a=b&&&=", b"%%%", b"[null]", b"[[]]", b"[{}]", b'{"batch":5}'),
    *(b'{"batch":[null,1,[]]}', b'{"events":{}}', b'{"data":"x"}', b'{"requests":[1]}', b"[" * 2000),
)
_OTHER_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    7,
    -1.5,
    "",
    "x",
    [],
    {},
    [[]],
    {"a": {"b": []}},
    10**30,
    "\ud83d\ude00\u0000",
)


@dataclass(frozen=True)
class RecordedRequest:
    """A request as a published client sends it; header names are in lower case."""

    path: str
    body: bytes = b""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


@dataclass(frozen=True)
class RecordedSample:
    """A recorded request and what it says.

    Attributes:
        build: returns the request that names a key.
        event_count: number of events in it.
        takes_public_id: whether the client may name the public id of a workspace instead of a write key.
    """

    build: Callable[[str], RecordedRequest]
    event_count: int = 1
    takes_public_id: bool = True


@dataclass(frozen=True)
class ProtocolHarness:
    """A protocol and recorded requests by name."""

    protocol: IngestProtocol
    samples: Mapping[str, RecordedSample]


class RecordingQueue:
    """Records offered events and rejections; an event id is claimed by its first event."""

    def __init__(self) -> None:
        self.offered: list[ReceivedEvent] = []
        self.rejected: list[tuple[RejectionReason, int]] = []
        self.is_failing = False
        self._claimed: set[str] = set()

    async def offer_all(self, arrivals: Sequence[ReceivedEvent]) -> list[EnqueueResult | EnqueueFailed]:
        """Records the events that are no duplicates."""
        if self.is_failing:
            raise EnqueueFailed("the disk is full")
        return [self._claim(arrival) for arrival in arrivals]

    async def count_rejected(
        self,
        _workspace_id: UUID,
        _key_id: UUID,
        _endpoint: IngestEndpoint,
        reason: RejectionReason,
        _at: datetime,
        *,
        event_count: int = 1,
    ) -> None:
        """Records a rejection."""
        self.rejected.append((reason, event_count))

    def _claim(self, arrival: ReceivedEvent) -> EnqueueResult:
        if arrival.event_id in self._claimed:
            return EnqueueResult.DUPLICATE
        self._claimed.add(arrival.event_id)
        self.offered.append(arrival)
        return EnqueueResult.QUEUED


class _OneWorkspace:
    """Implements `CredentialStore` as far as a cache of workspaces reads it."""

    def change_version(self) -> int:
        return 1

    async def list_workspaces(self) -> list[Any]:
        return [_WORKSPACE]


_WORKSPACE: Final = make_workspace(public_id=PUBLIC_ID, allowed_origins=(ORIGIN,))


class ProtocolClient:
    """Sends requests to a protocol through the endpoint of the ingest host.

    Attributes:
        queue: what became of the events.
    """

    def __init__(self, protocol: IngestProtocol, *, has_rate_limit_room: bool = True) -> None:
        self.queue = RecordingQueue()
        self._protocol = protocol
        self._endpoint = ProtocolEndpoint(
            workspaces=WorkspaceCache(cast(Any, _OneWorkspace())),
            find_write_key=_find_write_key,
            site_ids={SITE_ID: PUBLIC_ID},
            queue=cast(IngestQueue, self.queue),
            consume_rate_limit=lambda _sender, _at, _count: has_rate_limit_room,
            encode=_encode,
            on_failure=lambda _failure: None,
        )

    async def send(
        self,
        recorded: RecordedRequest,
        *,
        origin: str | None = ORIGIN,
        refusal: RequestRefusal | None = None,
    ) -> ProtocolResponse:
        """Returns the response to a request."""
        request = ProtocolRequest(
            recorded.method,
            recorded.path,
            recorded.query,
            recorded.headers,
            recorded.body,
            NOON,
            json.loads,
        )
        client = ClientContext(FIREFOX, "203.0.113.7", origin, {})
        return await self._endpoint.check_and_enqueue_events(self._protocol, request, client, refusal)


class IngestProtocolConformance:
    """What every ingest protocol keeps. Override the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> ProtocolHarness:
        """The protocol under test and its recorded requests."""
        raise pytest.UsageError("override the fixture `harness` with the protocol under test")

    def test_routes_can_be_served(self, harness: ProtocolHarness) -> None:
        """The routes are free, and id, label and homepage are given."""
        info = harness.protocol.info
        assert set(ProtocolRoutes.index_by_unique_path([harness.protocol]).protocols) == {info.id}
        assert info.routes
        assert info.id == info.id.lower()
        assert info.label
        assert info.homepage.startswith("https://")

    @pytest.mark.parametrize("key", [WRITE_KEY, PUBLIC_ID, SITE_ID])
    async def test_recorded_requests_are_taken(self, harness: ProtocolHarness, key: str) -> None:
        """Each recorded request is taken with each kind of key, with as many events as it has."""
        for name, sample in harness.samples.items():
            if key != WRITE_KEY and not sample.takes_public_id:
                continue
            client = ProtocolClient(harness.protocol)
            response = await client.send(sample.build(key))
            assert response.status < _FIRST_ERROR, name
            assert len(client.queue.offered) == sample.event_count, name
            assert client.queue.rejected == [], name
            expected = IngestEndpoint.TRACK if key == WRITE_KEY else IngestEndpoint.BATCH
            assert {event.channel for event in client.queue.offered} <= {expected}, name

    async def test_repeated_request_is_taken_and_repeats_no_event_with_an_id(
        self, harness: ProtocolHarness
    ) -> None:
        """A request that is sent again succeeds and stores no event with an id twice."""
        for name, sample in harness.samples.items():
            client = ProtocolClient(harness.protocol)
            await client.send(sample.build(WRITE_KEY))
            with_id = sum(event.claimed for event in client.queue.offered)
            response = await client.send(sample.build(WRITE_KEY))
            assert response.status < _FIRST_ERROR, name
            assert len(client.queue.offered) == 2 * sample.event_count - with_id, name

    async def test_unknown_key_stores_nothing(self, harness: ProtocolHarness) -> None:
        """A key that nobody has stores nothing and is no server error."""
        for name, sample in harness.samples.items():
            client = ProtocolClient(harness.protocol)
            response = await client.send(sample.build(UNKNOWN_KEY))
            assert response.status < _SERVER_ERROR, name
            assert client.queue.offered == [], name

    async def test_page_of_another_origin_stores_nothing_without_a_write_key(
        self, harness: ProtocolHarness
    ) -> None:
        """A page of another site stores nothing under a public id."""
        for name, sample in harness.samples.items():
            client = ProtocolClient(harness.protocol)
            await client.send(sample.build(PUBLIC_ID), origin="https://attacker.example")
            assert client.queue.offered == [], name

    async def test_refused_requests_are_counted_and_no_server_error(self, harness: ProtocolHarness) -> None:
        """Requests that are too large, packed in an unknown way or over the limit are counted as such."""
        for sample in harness.samples.values():
            for refusal in (RequestRefusal.TOO_LARGE, RequestRefusal.UNSUPPORTED_ENCODING):
                client = ProtocolClient(harness.protocol)
                response = await client.send(sample.build(WRITE_KEY), refusal=refusal)
                assert response.status < _SERVER_ERROR
                assert client.queue.rejected == [(RejectionReason(refusal.value), 1)]
            limited = ProtocolClient(harness.protocol, has_rate_limit_room=False)
            if sample.event_count:
                assert (await limited.send(sample.build(WRITE_KEY))).status < _SERVER_ERROR
                assert limited.queue.rejected == [(RejectionReason.RATE_LIMITED, sample.event_count)]

    async def test_full_queue_is_a_server_error_so_that_clients_send_again(
        self, harness: ProtocolHarness
    ) -> None:
        """When events cannot be stored the client gets a server error and sends again."""
        for sample in harness.samples.values():
            client = ProtocolClient(harness.protocol)
            client.queue.is_failing = True
            response = await client.send(sample.build(WRITE_KEY))
            if sample.event_count:
                assert response.status >= _SERVER_ERROR
                assert client.queue.rejected == [(RejectionReason.ENQUEUE_FAILED, sample.event_count)]

    async def test_garbage_is_refused_without_a_server_error(self, harness: ProtocolHarness) -> None:
        """No garbage is a server error, and none of it is stored."""
        for route in harness.protocol.info.routes:
            for method in route.methods:
                for body in _GARBAGE:
                    text = body.decode("latin-1")
                    client = ProtocolClient(harness.protocol)
                    for query in ("", text):
                        response = await client.send(RecordedRequest(route.path, body, query, {}, method))
                        assert response.status < _SERVER_ERROR
                    assert client.queue.offered == []

    async def test_damaged_requests_are_no_server_error(self, harness: ProtocolHarness) -> None:
        """No recorded request with its body cut, a value replaced, or garbage in it, is a server error."""
        for name, sample in harness.samples.items():
            recorded = sample.build(WRITE_KEY)
            for body in (*_GARBAGE, *_damage(recorded.body)):
                response = await ProtocolClient(harness.protocol).send(replace(recorded, body=body))
                assert response.status < _SERVER_ERROR, (name, body)


def _damage(body: bytes) -> Iterator[bytes]:
    """Yields a body cut at several places, and a JSON body with each of its values replaced by others."""
    yield from (body[: len(body) * part // 8] for part in range(8))
    try:
        document = json.loads(body)
    except ValueError:
        return
    yield from (json.dumps(changed).encode() for changed in _replace_each_value(document))


def _replace_each_value(value: Any) -> Iterator[Any]:
    yield from _OTHER_VALUES
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: changed} for changed in _replace_each_value(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], c, *value[index + 1 :]] for c in _replace_each_value(inner))


def _encode(value: object) -> bytes:
    return json.dumps(value).encode()


async def _find_write_key(key: str) -> AuthContext | None:
    if key != WRITE_KEY:
        return None
    credential = Credential(
        id=UUID(int=7),
        workspace_id=_WORKSPACE.id,
        kind=CredentialKind.WRITE,
        name="Write key",
        hint="",
        scopes=frozenset(),
        rate_limit=1000,
        created_at=NOON,
    )
    return AuthContext(credential, _WORKSPACE)
