"""Validates the body of an event before it is enqueued.

It is shared by ``/track``, the browser batch and every import. Enrichment parses the same fields with the same functions
and accepts every event that passed validation.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service_core.ingestion.imported_ids import is_reserved_for_imports
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates, to_int64_or_finite_float

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
        RejectionReason.OTHER_WORKSPACE: "The event names another workspace than the first one of the batch",
        RejectionReason.UNSUPPORTED_ENCODING: "Unsupported content encoding",
    }
)
"""Rejection reason to the text of ``error``."""


class ValidatedEvent(NamedTuple):
    """Name of a valid event, and the event id if the client sent one."""

    name: str
    event_id: str | None


def validate_name_and_identity(body: object) -> ValidatedEvent | RejectionReason:
    """Returns the event's name and client-sent id, or the reason why the body is rejected.

    Args:
        body: the decoded JSON of a request.
    """
    if not isinstance(body, dict):
        return RejectionReason.INVALID_JSON
    name = read_first_event_name(body)
    if name is None or isinstance(body.get("events"), list):
        return RejectionReason.NO_EVENT_NAME
    if not has_any_identity(body):
        return RejectionReason.NO_IDENTITY
    return ValidatedEvent(name, read_event_id_or_hash_of_long_one(body))


def read_first_event_name(body: Mapping[str, Any]) -> str | None:
    """Returns the first non-empty event name, trimmed and cut; a value that is not text counts as missing."""
    for field in EVENT_NAME_FIELDS:
        value = body.get(field)
        if isinstance(value, str) and (name := normalize_name(value)):
            return name
    return None


def has_any_identity(body: Mapping[str, Any]) -> bool:
    """Returns whether any identity field holds an id; placeholders count as ids here."""
    for field in _ALL_IDENTITY_FIELDS:
        if field in body and trimmed_identifier_or_none(body[field]) is not None:
            return True
    return False


def read_event_id_or_hash_of_long_one(body: Mapping[str, Any]) -> str | None:
    """Returns the client's idempotency key; one that is too long, or that only imports may have, as its SHA-256."""
    for field in EVENT_ID_FIELDS:
        if field in body and (key := text_of_string_or_number(body[field])):
            if len(key) > MAX_EVENT_ID_LENGTH or is_reserved_for_imports(key):
                return "sha256:" + hashlib.sha256(key.encode()).hexdigest()
            return key
    return None


def trimmed_identifier_or_none(value: object) -> str | None:
    """Returns an id as trimmed and cut text; None if it is empty or neither text nor number."""
    text = text_of_string_or_number(value)
    return text[:MAX_TEXT_LENGTH] if text else None


def text_of_string_or_number(value: object) -> str | None:
    """Returns text or a number as trimmed, sanitized text; None if it is empty or of another type."""
    if isinstance(value, str):
        return replace_nul_and_surrogates(value).strip() or None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = to_int64_or_finite_float(value)
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    return None if number is None else str(number)


def normalize_name(value: str) -> str:
    """Returns a name as sanitized, trimmed and cut text."""
    return replace_nul_and_surrogates(value).strip()[:MAX_TEXT_LENGTH]
