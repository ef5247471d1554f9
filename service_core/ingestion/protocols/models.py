"""Requests, events and results of ingest protocols."""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl

from service_core.ingestion.event_time import parse_iso_or_epoch_time
from service_core.ingestion.models import RejectionReason

DEFAULT_BODY_BYTES: Final = 1_000_000
"""Bytes of a body that a protocol takes unless it declares another limit."""
MAX_BODY_BYTES: Final = 5_000_000
"""Bytes of a body that no protocol may exceed."""
MAX_EVENTS: Final = 1_000
"""Events of one request: as many as a sender may send in a second."""

_MAX_FORM_FIELDS: Final = 1_000
_UNCOUNTED_JSON_BYTES: Final = 256_000
"""Bytes of JSON that may hold any number of values: as many as one event may have."""
_MAX_JSON_CONTAINERS: Final = 200_000
_MAX_JSON_VALUES: Final = 500_000
"""With more, parsing a body of a few megabytes takes a hundred megabytes of memory, before its sender is known."""

DecodeJson = Callable[[bytes], Any]
"""JSON bytes -> value; raises ValueError for anything else."""


class UnreadableRequest(Exception):
    """The request is not of the protocol.

    Args:
        reason: counted in the ledger if the key is known.
        event_count: number of events that are counted.
    """

    def __init__(self, reason: RejectionReason = RejectionReason.INVALID_JSON, event_count: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.event_count = event_count


class RequestRefusal(StrEnum):
    """Why a whole request was refused."""

    UNKNOWN_KEY = "unknown_key"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    TOO_LARGE = "too_large"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    UNREADABLE = "unreadable"
    RATE_LIMITED = "rate_limited"
    ENQUEUE_FAILED = "enqueue_failed"


REFUSAL_STATUSES: Final[Mapping[RequestRefusal, int]] = MappingProxyType(
    {
        RequestRefusal.UNKNOWN_KEY: 401,
        RequestRefusal.ORIGIN_NOT_ALLOWED: 403,
        RequestRefusal.TOO_LARGE: 413,
        RequestRefusal.UNSUPPORTED_ENCODING: 415,
        RequestRefusal.UNREADABLE: 400,
        RequestRefusal.RATE_LIMITED: 429,
        RequestRefusal.ENQUEUE_FAILED: 503,
    }
)
"""The HTTP status of each refusal, where the vendor's client expects no other one."""


@dataclass(frozen=True, slots=True)
class ProtocolRoute:
    """A route of the ingest host.

    Attributes:
        path: exact path, such as ``/v1/batch``.
        methods: HTTP methods in upper case; ``OPTIONS`` is answered by the host.
    """

    path: str
    methods: frozenset[str] = frozenset({"POST"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolInfo:
    """What a protocol declares about itself.

    Attributes:
        id: unique id in lower case.
        label: name of the product whose format it is.
        homepage: where the vendor documents the format.
        routes: all routes of the protocol.
        max_body_bytes: of the body after decompression; at most `MAX_BODY_BYTES`.
        derives_visitor_id: whether events without any id get one from the day, the IP address and the user agent.
    """

    id: str
    label: str
    homepage: str
    routes: tuple[ProtocolRoute, ...]
    max_body_bytes: int = DEFAULT_BODY_BYTES
    derives_visitor_id: bool = False


@dataclass(frozen=True)
class ProtocolRequest:
    """A request to a protocol's route.

    Attributes:
        query: query string without ``?``.
        headers: by name in lower case.
        body: decompressed; empty if it was too large.
        received_at: aware UTC.
        decode_json: parses JSON.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    decode_json: DecodeJson = field(repr=False)

    @cached_property
    def query_fields(self) -> Mapping[str, str]:
        """Returns the parameters of the query string; of a repeated one the last.

        Raises:
            UnreadableRequest: there are too many.
        """
        return parse_form(self.query)

    @cached_property
    def form_fields(self) -> Mapping[str, str]:
        """Returns the fields of a form body; of a repeated one the last.

        Raises:
            UnreadableRequest: there are too many.
        """
        return parse_form(self.body.decode("utf-8", "replace"))

    @cached_property
    def document(self) -> Any:
        """Returns the JSON value of the body, whatever its content type.

        Raises:
            UnreadableRequest: the body is empty or no JSON.
        """
        return self.parse_json(self.body)

    def parse_json(self, text: bytes) -> Any:
        """Returns the value of JSON bytes.

        Raises:
            UnreadableRequest: the text is empty or no JSON, or a long one holds very many values.
        """
        if not text or text.isspace():
            raise UnreadableRequest(RejectionReason.NO_BODY)
        if len(text) > _UNCOUNTED_JSON_BYTES and _has_very_many_values(text):
            raise UnreadableRequest(RejectionReason.TOO_LARGE)
        try:
            return self.decode_json(text)
        except (ValueError, RecursionError) as fault:
            raise UnreadableRequest from fault

    @staticmethod
    def require_event_count(events: Sized) -> None:
        """Refuses more events than `MAX_EVENTS`, before time is spent on each of them.

        Raises:
            UnreadableRequest: there are too many; each is counted as too large.
        """
        if len(events) > MAX_EVENTS:
            raise UnreadableRequest(RejectionReason.TOO_LARGE, len(events))

    @staticmethod
    def first_key(keys: Iterable[str | None]) -> str | None:
        """Returns the first key that an event names, among those of the first `MAX_EVENTS` events; None without one."""
        return next((key for key in islice(keys, MAX_EVENTS) if key), None)

    @cached_property
    def basic_credentials(self) -> tuple[str, str]:
        """Returns user and password of HTTP Basic authentication; empty texts without."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return "", ""
        try:
            text = base64.b64decode(token.strip(), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return "", ""
        user, _, password = text.partition(":")
        return user, password


@dataclass(frozen=True, slots=True)
class ProtocolEvent:
    """One event of a request.

    Attributes:
        body: the event as a `/track` body.
        unread_fields: names of fields that were sent and have no place in ``body``; the ledger counts the event under
            ``field_not_read``.
        key: the key that the event itself names; one other than that of the request is refused. None if it names none.
    """

    body: Mapping[str, Any]
    unread_fields: Sequence[str] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ProtocolOutcome:
    """What became of the events of a request.

    Attributes:
        accepted: number of events that are stored durably now.
        duplicates: number of events with an id that was claimed before.
        rejected: index and reason of rejected events.
        refusal: why the whole request was refused; None if its events were looked at.
    """

    accepted: int = 0
    duplicates: int = 0
    rejected: Sequence[tuple[int, RejectionReason]] = ()
    refusal: RequestRefusal | None = None

    @property
    def status(self) -> int:
        """Returns 200 if any event was taken or none was sent, 400 if all were rejected, else that of the refusal."""
        if self.refusal is not None:
            return REFUSAL_STATUSES[self.refusal]
        return 400 if self.rejected and not self.accepted and not self.duplicates else 200


@dataclass(frozen=True, slots=True)
class ProtocolResponse:
    """Status, body and headers of a response; CORS and cache headers are added by the host."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def _has_very_many_values(text: bytes) -> bool:
    """Returns whether JSON holds more values than its size in memory allows, by its punctuation; those in texts count, too."""
    if text.count(b"{") + text.count(b"[") > _MAX_JSON_CONTAINERS:
        return True
    return text.count(b",") > _MAX_JSON_VALUES


def parse_form(text: str) -> Mapping[str, str]:
    """Returns the fields of URL-encoded text; of a repeated one the last.

    Raises:
        UnreadableRequest: there are too many.
    """
    try:
        return dict(
            parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=_MAX_FORM_FIELDS)
        )
    except ValueError as fault:
        raise UnreadableRequest from fault


def decode_base64_or_none(text: str) -> bytes | None:
    """Returns the bytes of base64 text in either alphabet, with or without padding; None if it is none."""
    plain = text.strip().replace("-", "+").replace("_", "/").replace(" ", "+")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def event_time_by_server_clock_or_as_sent(happened: object, sent_at: object, received_at: datetime) -> object:
    """Returns the time of an event by the server's clock: as long before receipt as it was before it was sent.

    The time is returned as sent if either time is missing or unreadable, or the difference is not positive.

    Args:
        happened: time by the client's clock.
        sent_at: when the client sent it, by the same clock.
        received_at: aware UTC.
    """
    event_time, send_time = parse_iso_or_epoch_time(happened), parse_iso_or_epoch_time(sent_at)
    if event_time is None or send_time is None or event_time > send_time:
        return happened
    delay: timedelta = send_time - event_time
    try:
        return (received_at - delay).isoformat()
    except OverflowError:
        return happened


def json_object(value: object) -> dict[str, Any]:
    """Returns a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def text_field(fields: Mapping[str, Any], *names: str) -> str | None:
    """Returns the first of these fields that is text and not empty; None without one."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def drop_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields whose value is not None, nor an empty text or object."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", {})}
