"""Handles `POST /track` without the HTTP server: request checks and responses.

The HTTP host calls these in order: `check_method` and `parse_ingest_headers` before it reads the body, `check_rate_limit_and_validate_request` on the
body, then the response for the result of the queue. The order of the checks is defined here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.api_keys import INGEST_RATE_LIMIT
from service_core.access.key_authentication import parse_bearer_token
from service_core.access.models import AuthContext
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent, RejectionReason
from service_core.ingestion.validation import REJECTION_MESSAGES, ValidatedEvent, validate_name_and_identity
from service_core.kernel.ids import new_id

MAX_BODY_BYTES: Final = 256_000
ALLOW_ANY_ORIGIN: Final[Mapping[str, str]] = {"access-control-allow-origin": "*"}
"""Header of every response of the ingest host."""

STORED_HEADERS: Final = frozenset({b"accept-language", b"purpose", b"sec-purpose", b"x-purpose", b"x-moz"})
"""Request headers that enrichment reads, besides the user agent."""

_DIGITS: Final = 16
"""A ``Content-Length`` with more digits is ignored."""

Decode = Callable[[bytes], Any]
"""JSON bytes -> value; raises ValueError for anything that is not strict JSON in UTF-8."""

ConsumeRateLimit = Callable[[UUID, datetime], bool]
"""Counts a request of a write key; False if the limit of the second is reached."""


class IngestResponse(NamedTuple):
    """Status, JSON body (None for an empty one) and headers of a response."""

    status: int
    body: Mapping[str, object] | None
    headers: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    """A rejected request; ``reason`` is counted in the ledger if the key is known."""

    response: IngestResponse
    reason: RejectionReason | None = None


class AcceptedRequest(NamedTuple):
    """An event for the queue, with the event name and public workspace id of the response."""

    arrival: ReceivedEvent
    name: str
    workspace_public_id: str


class TrackHeaders(NamedTuple):
    """The request headers that ingestion reads: ``content_length`` and ``content_encoding`` are as declared, if at all."""

    key: str | None
    user_agent: str | None
    stored_headers: Mapping[str, str]
    content_length: int | None
    content_encoding: str | None = None


def _build_rejected_request(
    status: int, reason: RejectionReason, headers: Mapping[str, str] | None = None
) -> RejectedRequest:
    return RejectedRequest(
        IngestResponse(status, {"error": REJECTION_MESSAGES[reason]}, headers or {}), reason
    )


PREFLIGHT: Final = IngestResponse(
    204,
    None,
    {
        "access-control-allow-methods": "POST, OPTIONS",
        "access-control-allow-headers": "Content-Type, X-API-Key, Authorization",
    },
)
WRONG_METHOD: Final = IngestResponse(405, {"error": "Method not allowed"}, {"allow": "POST, OPTIONS"})
UNKNOWN_PATH: Final = IngestResponse(404, {"error": "Not found"})
MISSING_KEY: Final = RejectedRequest(
    IngestResponse(
        401,
        {"error": "Missing API key. Please provide X-API-Key header or Authorization Bearer token."},
    )
)
INVALID_KEY: Final = RejectedRequest(IngestResponse(401, {"error": "Invalid API key"}))
REJECTION_RESPONSES: Final[Mapping[RejectionReason, RejectedRequest]] = {
    RejectionReason.TOO_LARGE: _build_rejected_request(413, RejectionReason.TOO_LARGE),
    RejectionReason.RATE_LIMITED: _build_rejected_request(
        429, RejectionReason.RATE_LIMITED, {"retry-after": "1"}
    ),
    RejectionReason.UNSUPPORTED_ENCODING: _build_rejected_request(415, RejectionReason.UNSUPPORTED_ENCODING),
    RejectionReason.NO_BODY: _build_rejected_request(400, RejectionReason.NO_BODY),
    RejectionReason.INVALID_JSON: _build_rejected_request(400, RejectionReason.INVALID_JSON),
    RejectionReason.NO_EVENT_NAME: _build_rejected_request(400, RejectionReason.NO_EVENT_NAME),
    RejectionReason.NO_IDENTITY: _build_rejected_request(400, RejectionReason.NO_IDENTITY),
}


def check_method(method: str) -> IngestResponse | None:
    """Returns the response to a method other than `POST`; None lets the request continue."""
    if method == "POST":
        return None
    return PREFLIGHT if method == "OPTIONS" else WRONG_METHOD


def parse_ingest_headers(raw_headers: Iterable[tuple[bytes, bytes]]) -> TrackHeaders:
    """Returns the headers ingestion reads; names are in lower case, as ASGI passes them.

    ``X-API-Key`` wins over ``Authorization``, unless it is empty.
    """
    key = authorization = user_agent = length = encoding = None
    stored_headers: dict[str, str] = {}
    for name, value in raw_headers:
        if name == b"user-agent":
            user_agent = value.decode("latin-1")
        elif name == b"x-api-key":
            key = value.decode("latin-1").strip()
        elif name == b"authorization":
            authorization = value.decode("latin-1")
        elif name == b"content-length" and value.isdigit() and len(value) < _DIGITS:
            length = int(value)
        elif name == b"content-encoding":
            encoding = value.decode("latin-1").strip().lower()
        elif name in STORED_HEADERS:
            stored_headers[name.decode("ascii")] = value.decode("latin-1")
    return TrackHeaders(
        key or parse_bearer_token(authorization), user_agent, stored_headers, length, encoding
    )


def check_rate_limit_and_validate_request(
    body: bytes | None,
    headers: TrackHeaders,
    auth_context: AuthContext | None,
    *,
    client_ip: str | None,
    received_at: datetime,
    consume_rate_limit: ConsumeRateLimit,
    decode: Decode,
) -> AcceptedRequest | RejectedRequest:
    """Runs the checks of a request after its key was looked up, in the documented order.

    Args:
        body: as received; None if it was longer than `MAX_BODY_BYTES`.
        headers: the headers that ingestion reads.
        auth_context: credential of the key; None if it is unknown.
        client_ip: IP address of the client, if known.
        received_at: current time, aware UTC.
        consume_rate_limit: counts the request; called only if the body is not too long and the key is known.
        decode: parses the body.
    """
    if body is None:
        return REJECTION_RESPONSES[RejectionReason.TOO_LARGE]
    if auth_context is None:
        return MISSING_KEY if headers.key is None else INVALID_KEY
    if not consume_rate_limit(auth_context.credential.id, received_at):
        return REJECTION_RESPONSES[RejectionReason.RATE_LIMITED]
    validated = _decode_and_validate_event(body, decode)
    if isinstance(validated, RejectionReason):
        return REJECTION_RESPONSES[validated]
    name, event_id = validated
    workspace = auth_context.workspace
    arrival = ReceivedEvent(  # positional: keywords take three times as long
        workspace.id,
        auth_context.credential.id,
        IngestEndpoint.TRACK,
        event_id or str(new_id()),
        event_id is not None,
        received_at,
        body,
        headers.user_agent,
        client_ip,
        headers.stored_headers,
    )
    return AcceptedRequest(arrival, name, workspace.public_id)


def _decode_and_validate_event(body: bytes, decode: Decode) -> ValidatedEvent | RejectionReason:
    """Decodes the body and validates the event."""
    if not body or body.isspace():
        return RejectionReason.NO_BODY
    try:
        document = decode(body)
    except ValueError:
        return RejectionReason.INVALID_JSON
    return validate_name_and_identity(document)


def queued_response(name: str, workspace: str) -> IngestResponse:
    """Returns the response to an event that was stored durably."""
    return IngestResponse(200, {"success": True, "event": name, "workspace": workspace})


def duplicate_response(request: AcceptedRequest) -> IngestResponse:
    """Returns the response to an event id that was claimed within the last seven days."""
    event_id = request.arrival.event_id
    return IngestResponse(200, {"success": False, "error": "Duplicate event detected", "event_id": event_id})


def enqueue_failed_response(detail: str) -> RejectedRequest:
    """Returns the response if the queue stored nothing; the client may retry with the same event id."""
    body = {"error": REJECTION_MESSAGES[RejectionReason.ENQUEUE_FAILED], "details": detail}
    return RejectedRequest(IngestResponse(500, body), RejectionReason.ENQUEUE_FAILED)


def server_error_response(error_id: UUID) -> IngestResponse:
    """Returns the response to an internal error; the id refers to its log line."""
    return IngestResponse(
        500, {"error": "Internal server error", "error_id": str(error_id)}, {"x-error-id": str(error_id)}
    )


class SenderRateLimit:
    """Counts events by sender in fixed windows of one second, in memory.

    A sender is a write key, or a workspace whose browsers send events without a key.

    It does not implement `RateLimiter`, because it is called for every event, and ingestion never depends on a limit
    store.
    """

    def __init__(self) -> None:
        self._second = 0
        self._spent: dict[UUID, int] = {}

    def count_events_unless_second_is_full(self, sender: UUID, at: datetime, event_count: int = 1) -> bool:
        """Counts events; returns False, and counts nothing, if the window has no room for them."""
        second = int(at.timestamp())
        if second != self._second:
            self._second, self._spent = second, {}
        spent = self._spent.get(sender, 0) + event_count
        if spent > INGEST_RATE_LIMIT:
            return False
        self._spent[sender] = spent
        return True
