"""Validates the body of an event before it is enqueued.

It is shared by ``/track``, the browser batch and every import. Enrichment parses the same fields with the same functions
and accepts every event that passed validation.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service_core.ingestion.models import RejectionReason
from service_core.ingestion.sanitize_json import sanitize_number, sanitize_text

MAX_TEXT_LENGTH: Final = 255
MAX_EVENT_ID_LENGTH: Final = 256

EVENT_NAME_FIELDS: Final = ("event", "event_name")
IDENTITY_FIELDS: Final = (
    ("distinct_id", "distinctId"),
    ("user_id", "userId"),
    ("anonymous_id", "anonymousId"),
    ("visitor_id", "visitorId"),
)
EVENT_ID_FIELDS: Final = ("event_id", "eventId", "messageId", "message_id")

_ALL_IDENTITY_FIELDS: Final = tuple(spelling for pair in IDENTITY_FIELDS for spelling in pair)

REJECTION_MESSAGES: Final[Mapping[RejectionReason, str]] = MappingProxyType(
    {
        RejectionReason.TOO_LARGE: "Payload too large. Maximum size is 256KB.",
        RejectionReason.RATE_LIMITED: "Rate limit exceeded. Maximum 1000 requests per second.",
        RejectionReason.NO_BODY: "Request body is required",
        RejectionReason.INVALID_JSON: "Invalid JSON in request body",
        RejectionReason.NO_EVENT_NAME: "Event name is required (event or event_name field)",
        RejectionReason.NO_IDENTITY: "Identity required: provide distinct_id, user_id, anonymous_id, or visitor_id",
        RejectionReason.ENQUEUE_FAILED: "Failed to enqueue event",
        RejectionReason.INVALID_SIGNATURE: "Invalid signature",
    }
)
"""Rejection reason to the text of ``error``."""


class ValidatedEvent(NamedTuple):
    """Name of a valid event, and the event id if the client sent one."""

    name: str
    event_id: str | None


def validate_event(body: object) -> ValidatedEvent | RejectionReason:
    """Returns the event's name and client-sent id, or the reason why the body is rejected.

    Args:
        body: the decoded JSON of a request.
    """
    if not isinstance(body, dict):
        return RejectionReason.INVALID_JSON
    name = read_event_name(body)
    if name is None or isinstance(body.get("events"), list):
        return RejectionReason.NO_EVENT_NAME
    if not has_identity(body):
        return RejectionReason.NO_IDENTITY
    return ValidatedEvent(name, read_event_id(body))


def read_event_name(body: Mapping[str, Any]) -> str | None:
    """Returns the first non-empty event name, trimmed and cut; a value that is not text counts as missing."""
    for field in EVENT_NAME_FIELDS:
        value = body.get(field)
        if isinstance(value, str) and (name := normalize_name(value)):
            return name
    return None


def has_identity(body: Mapping[str, Any]) -> bool:
    """Returns whether any identity field holds an id; placeholders count as ids here."""
    for field in _ALL_IDENTITY_FIELDS:
        if field in body and normalize_identifier(body[field]) is not None:
            return True
    return False


def read_event_id(body: Mapping[str, Any]) -> str | None:
    """Returns the client's idempotency key; an id longer than `MAX_EVENT_ID_LENGTH` is replaced by its SHA-256."""
    for field in EVENT_ID_FIELDS:
        if field in body and (key := to_text(body[field])):
            if len(key) > MAX_EVENT_ID_LENGTH:
                return "sha256:" + hashlib.sha256(key.encode()).hexdigest()
            return key
    return None


def normalize_identifier(value: object) -> str | None:
    """Returns an id as trimmed and cut text; None if it is empty or neither text nor number."""
    text = to_text(value)
    return text[:MAX_TEXT_LENGTH] if text else None


def to_text(value: object) -> str | None:
    """Returns text or a number as trimmed, sanitized text; None if it is empty or of another type."""
    if isinstance(value, str):
        return sanitize_text(value).strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = sanitize_number(value)
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    return None if number is None else str(number)


def normalize_name(value: str) -> str:
    """Returns a name as sanitized, trimmed and cut text."""
    return sanitize_text(value).strip()[:MAX_TEXT_LENGTH]
