"""`POST /track` without its transport: what was sent, and who sent it -> the answer (contract 10.1).

A host reads bytes, looks the write key up and calls these in order: `door` before the body is
read, `judge` on the body, and the answer by what the queue said. The order of checks lives here alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.authenticate import bearer
from service_core.access.keys import INGEST_RATE
from service_core.access.model import Identity
from service_core.intake.accept import TEXTS, Accepted, accept
from service_core.intake.model import Arrival, Channel, Reason
from service_core.kernel.ids import new_id

MAX_BODY: Final = 256_000
CORS: Final[Mapping[str, str]] = {"access-control-allow-origin": "*"}
"""On every answer of the ingest host (specification)."""

KEPT_HEADERS: Final = frozenset({b"accept-language", b"purpose", b"sec-purpose", b"x-purpose", b"x-moz"})
"""Request headers the enrichment reads, besides the user agent."""

_DIGITS: Final = 16
"""A longer length is none that a body has."""

Decode = Callable[[bytes], Any]
"""JSON bytes -> value; raises ValueError for anything that is not strict JSON in UTF-8."""

Spend = Callable[[UUID, datetime], bool]
"""Counts a request of a write key; False when the second is used up."""


class Answer(NamedTuple):
    """What goes back: ``body`` is the JSON object, None for an empty answer."""

    status: int
    body: Mapping[str, object] | None
    headers: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Refused:
    """The request does not become an event; ``reason`` is counted when the key resolved."""

    answer: Answer
    reason: Reason | None = None


class Admitted(NamedTuple):
    """An event for the queue, and what its answer says: the event's name and the workspace's public id."""

    arrival: Arrival
    name: str
    workspace: str


class Sent(NamedTuple):
    """The parts of a request's headers that matter here; ``length`` is what they say of the body's, in bytes."""

    key: str | None
    user_agent: str | None
    headers: Mapping[str, str]
    length: int | None


def _refused(status: int, reason: Reason, headers: Mapping[str, str] | None = None) -> Refused:
    return Refused(Answer(status, {"error": TEXTS[reason]}, headers or {}), reason)


PREFLIGHT: Final = Answer(
    204,
    None,
    {
        "access-control-allow-methods": "POST, OPTIONS",
        "access-control-allow-headers": "Content-Type, X-API-Key, Authorization",
    },
)
WRONG_METHOD: Final = Answer(405, {"error": "Method not allowed"}, {"allow": "POST, OPTIONS"})
UNKNOWN_PATH: Final = Answer(404, {"error": "Not found"})
MISSING_KEY: Final = Refused(
    Answer(
        401,
        {"error": "Missing API key. Please provide X-API-Key header or Authorization Bearer token."},
    )
)
INVALID_KEY: Final = Refused(Answer(401, {"error": "Invalid API key"}))
REFUSED: Final[Mapping[Reason, Refused]] = {
    Reason.TOO_LARGE: _refused(413, Reason.TOO_LARGE),
    Reason.RATE_LIMITED: _refused(429, Reason.RATE_LIMITED, {"retry-after": "1"}),
    Reason.NO_BODY: _refused(400, Reason.NO_BODY),
    Reason.INVALID_JSON: _refused(400, Reason.INVALID_JSON),
    Reason.NO_EVENT_NAME: _refused(400, Reason.NO_EVENT_NAME),
    Reason.NO_IDENTITY: _refused(400, Reason.NO_IDENTITY),
}


def door(method: str) -> Answer | None:
    """The answer to a method that is not `POST`; None lets the request in (checks 1 and 2)."""
    if method == "POST":
        return None
    return PREFLIGHT if method == "OPTIONS" else WRONG_METHOD


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> Sent:
    """What the headers say; names are lower case, as ASGI gives them.

    ``X-API-Key`` wins over ``Authorization``, unless it is empty.
    """
    key = authorization = user_agent = length = None
    kept: dict[str, str] = {}
    for name, value in raw:
        if name == b"user-agent":
            user_agent = value.decode("latin-1")
        elif name == b"x-api-key":
            key = value.decode("latin-1").strip()
        elif name == b"authorization":
            authorization = value.decode("latin-1")
        elif name == b"content-length" and value.isdigit() and len(value) < _DIGITS:
            length = int(value)
        elif name in KEPT_HEADERS:
            kept[name.decode("ascii")] = value.decode("latin-1")
    return Sent(key or bearer(authorization), user_agent, kept, length)


def judge(
    body: bytes | None,
    sent: Sent,
    identity: Identity | None,
    *,
    address: str | None,
    received_at: datetime,
    spend: Spend,
    decode: Decode,
) -> Admitted | Refused:
    """Checks 3 to 10, in their order.

    Args:
        body: as received; None when it was over `MAX_BODY`.
        sent: what the headers say.
        identity: what the key resolves to; also looked up for a body that is too large, so that
            the ledger counts it.
        address: of the client.
        received_at: the present, aware UTC.
        spend: counts the request once it got as far as the rate limit.
        decode: parses the body.
    """
    if body is None:
        return REFUSED[Reason.TOO_LARGE]
    if identity is None:
        return MISSING_KEY if sent.key is None else INVALID_KEY
    if not spend(identity.credential.id, received_at):
        return REFUSED[Reason.RATE_LIMITED]
    verdict = _read(body, decode)
    if isinstance(verdict, Reason):
        return REFUSED[verdict]
    name, event_id = verdict
    workspace = identity.workspace
    arrival = Arrival(  # by place: by name it takes three times as long
        workspace.id,
        identity.credential.id,
        Channel.TRACK,
        event_id or str(new_id()),
        event_id is not None,
        received_at,
        body,
        sent.user_agent,
        address,
        sent.headers,
    )
    return Admitted(arrival, name, workspace.public_id)


def _read(body: bytes, decode: Decode) -> Accepted | Reason:
    """What the body holds (checks 7 to 10)."""
    if not body or body.isspace():
        return Reason.NO_BODY
    try:
        document = decode(body)
    except ValueError:
        return Reason.INVALID_JSON
    return accept(document)


def queued(name: str, workspace: str) -> Answer:
    """The answer to an event that is durable: its name and the workspace's public id (check 14)."""
    return Answer(200, {"success": True, "event": name, "workspace": workspace})


def duplicate(admitted: Admitted) -> Answer:
    """The answer to an event whose id was claimed in the last seven days (check 11)."""
    event_id = admitted.arrival.event_id
    return Answer(200, {"success": False, "error": "Duplicate event detected", "event_id": event_id})


def not_enqueued(detail: str) -> Refused:
    """The queue kept nothing; a retry with the same event id is welcome (check 12)."""
    body = {"error": TEXTS[Reason.ENQUEUE_FAILED], "details": detail}
    return Refused(Answer(500, body), Reason.ENQUEUE_FAILED)


def fault(error_id: UUID) -> Answer:
    """The handler itself failed; the id leads to its log line (check 13)."""
    return Answer(
        500, {"error": "Internal server error", "error_id": str(error_id)}, {"x-error-id": str(error_id)}
    )


class RateLimit:
    """What each sender sends in fixed windows of one second, counted in memory.

    A sender is a write key (check 6) or a workspace whose browsers send without one (contract 11.2).

    It is no `RateLimiter`: it is asked for every event, and ingest never fails because a limit
    store is away.
    """

    def __init__(self) -> None:
        self._second = 0
        self._spent: dict[UUID, int] = {}

    def spend(self, sender: UUID, at: datetime, events: int = 1) -> bool:
        """Count so many at once; refused ones do not count on."""
        second = int(at.timestamp())
        if second != self._second:
            self._second, self._spent = second, {}
        spent = self._spent.get(sender, 0) + events
        if spent > INGEST_RATE:
            return False
        self._spent[sender] = spent
        return True
