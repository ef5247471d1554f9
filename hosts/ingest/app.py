"""`POST /track` as an ASGI application; `ingestion.track` decides.

No framework stands between socket and rule, and little else: this path is most of the service's work.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from hosts.asgi import App, Receive, Scope, Send
from hosts.client_address import ClientAddressResolver
from hosts.ingest.body import (
    BODY_TIMEOUT_SECONDS,
    ClientGone,
    UnknownEncoding,
    inflate_body,
    read_body_or_none_if_too_long,
)
from hosts.ingest.error_answers import QueueFailureLog, answer_timeout_or_log_server_error
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.write_key_cache import WriteKeyCache
from hosts.request_smuggling import is_unambiguous_request, send_malformed_request
from service_core.access.models import AuthContext
from service_core.ingestion import track
from service_core.ingestion.models import IngestEndpoint, RejectionReason
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.track import AcceptedRequest, IngestResponse, RejectedRequest
from service_core.kernel.clock import Clock

_CORS_HEADERS: Final = tuple(
    (name.encode(), value.encode()) for name, value in track.ALLOW_ANY_ORIGIN.items()
)
_JSON_HEADERS: Final = (
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    *_CORS_HEADERS,
)


@dataclass(frozen=True, slots=True)
class IngestDependencies:
    """The dependencies of `POST /track`."""

    queue: IngestQueue
    write_keys: WriteKeyCache
    spend_quota: track.ConsumeRateLimit
    clock: Clock
    addresses: ClientAddressResolver = field(default_factory=ClientAddressResolver)
    read_timeout: ReadTimeout = field(default_factory=lambda: ReadTimeout(BODY_TIMEOUT_SECONDS))
    queue_failures: QueueFailureLog = field(default_factory=QueueFailureLog)


def create_ingest_app(dependencies: IngestDependencies, fallback_app: App | None = None) -> App:
    """The ASGI application; it rejects ambiguous requests itself, see `hosts.request_smuggling`.

    Args:
        dependencies: the stores and settings it uses.
        fallback_app: answers every path that is not ``/track``; without it they are 404.
    """

    async def serve_track_or_fall_back(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if is_http and not is_unambiguous_request(scope):
            await send_malformed_request(scope, send)
        elif is_http and scope["path"] == "/track":
            await _send_track_response(dependencies, scope, receive, send)
        elif fallback_app is not None:
            await fallback_app(scope, receive, send)
        elif is_http:
            await _send_response(send, _to_raw_response(track.UNKNOWN_PATH))

    return serve_track_or_fall_back


class RawResponse(NamedTuple):
    """A response as it is sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


async def _send_track_response(
    dependencies: IngestDependencies, scope: Scope, receive: Receive, send: Send
) -> None:
    try:
        written = await _accept_or_reject_event(dependencies, scope, receive)
    except ClientGone:
        await send_malformed_request(
            scope, send
        )  # nobody reads it, but granian would write a 500 in its place
        return
    except Exception as fault:  # noqa: BLE001 - the contract wants an answer to every fault
        written = _to_raw_response(answer_timeout_or_log_server_error(fault))
    await _send_response(send, written)


async def _accept_or_reject_event(
    dependencies: IngestDependencies, scope: Scope, receive: Receive
) -> RawResponse:
    """Runs the checks of `/track` in the order that the API documents."""
    early = track.check_method(scope["method"])
    if early is not None:
        return _to_raw_response(early)
    headers = scope["headers"]
    sent = track.parse_ingest_headers(headers)
    with dependencies.read_timeout:
        body = await read_body_or_none_if_too_long(receive, track.MAX_BODY_BYTES, sent.content_length)
    identity = dependencies.write_keys.get_unless_stale(sent.key) or await dependencies.write_keys.look_up(
        sent.key
    )
    if sent.content_encoding is not None:
        try:
            body = inflate_body(body, sent.content_encoding, track.MAX_BODY_BYTES)
        except UnknownEncoding:
            rejected = track.REJECTION_RESPONSES[RejectionReason.UNSUPPORTED_ENCODING]
            await _count_rejected_if_key_valid(dependencies, identity, rejected)
            return _to_raw_response(rejected.response)
    peer = scope.get("client")
    verdict = track.check_rate_limit_and_validate_request(
        body,
        sent,
        identity,
        client_ip=dependencies.addresses.resolve_nearest_untrusted(peer and peer[0], headers),
        received_at=dependencies.clock(),
        consume_rate_limit=dependencies.spend_quota,
        decode=orjson.loads,
    )
    if isinstance(verdict, AcceptedRequest):
        try:
            offer = await dependencies.queue.offer(verdict.arrival)
        except EnqueueFailed as failure:
            dependencies.queue_failures.record_and_log_every_ten_seconds(failure)
            verdict = track.enqueue_failed_response(failure.detail)
        else:
            queued = offer is EnqueueResult.QUEUED
            return (
                _queued_response(verdict.name, verdict.workspace_public_id)
                if queued
                else _to_raw_response(track.duplicate_response(verdict))
            )
    await _count_rejected_if_key_valid(dependencies, identity, verdict)
    return _to_raw_response(verdict.response)


async def _count_rejected_if_key_valid(
    dependencies: IngestDependencies, identity: AuthContext | None, rejected: RejectedRequest
) -> None:
    """Counts a rejected event in the ledger, when its key was valid."""
    if identity is not None and rejected.reason is not None:
        key = identity.credential.id
        await dependencies.queue.count_rejected(
            identity.workspace.id, key, IngestEndpoint.TRACK, rejected.reason, dependencies.clock()
        )


@lru_cache(maxsize=1024)
def _queued_response(name: str, workspace: str) -> RawResponse:
    """Returns the response to an accepted event, cached by event name."""
    return _to_raw_response(track.queued_response(name, workspace))


def _to_raw_response(answer: IngestResponse) -> RawResponse:
    body, headers = b"", [*_CORS_HEADERS]
    if answer.body is not None:
        body = orjson.dumps(answer.body)
        headers = [*_JSON_HEADERS, (b"content-length", b"%d" % len(body))]
    headers += [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    return RawResponse(answer.status, headers, body)


async def _send_response(send: Send, written: RawResponse) -> None:
    await send({"type": "http.response.start", "status": written.status, "headers": written.headers})
    await send({"type": "http.response.body", "body": written.body})
