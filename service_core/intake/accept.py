"""The acceptance check of the hot path: does a decoded body become an event (contract 10.1, 8 to 10)?

It is shared by ``/track``, the browser batch and every import. What it accepts can be enriched:
enrichment reads the same fields by the same rules and refuses nothing.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service_core.intake.model import Reason
from service_core.intake.poison import clean_number, clean_text

MAX_TEXT: Final = 255
MAX_EVENT_ID: Final = 256

NAMES: Final = ("event", "event_name")
IDENTITIES: Final = (
    ("distinct_id", "distinctId"),
    ("user_id", "userId"),
    ("anonymous_id", "anonymousId"),
    ("visitor_id", "visitorId"),
)
EVENT_IDS: Final = ("event_id", "eventId", "messageId", "message_id")

_ANY_IDENTITY: Final = tuple(spelling for pair in IDENTITIES for spelling in pair)

TEXTS: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.TOO_LARGE: "Payload too large. Maximum size is 256KB.",
        Reason.RATE_LIMITED: "Rate limit exceeded. Maximum 1000 requests per second.",
        Reason.NO_BODY: "Request body is required",
        Reason.INVALID_JSON: "Invalid JSON in request body",
        Reason.NO_EVENT_NAME: "Event name is required (event or event_name field)",
        Reason.NO_IDENTITY: "Identity required: provide distinct_id, user_id, anonymous_id, or visitor_id",
        Reason.ENQUEUE_FAILED: "Failed to enqueue event",
        Reason.INVALID_SIGNATURE: "Invalid signature",
    }
)
"""What ``error`` says for each reason of rejection (contract 10.1, 11.4)."""


class Accepted(NamedTuple):
    """A body that becomes an event: its name, and the idempotency key if the client sent one."""

    name: str
    event_id: str | None


def accept(body: object) -> Accepted | Reason:
    """The event's name and claimed id, or the reason why the body is not an event.

    Args:
        body: the decoded JSON of a request.
    """
    if not isinstance(body, dict):
        return Reason.INVALID_JSON
    name = event_name(body)
    if name is None or isinstance(body.get("events"), list):
        return Reason.NO_EVENT_NAME
    if not has_identity(body):
        return Reason.NO_IDENTITY
    return Accepted(name, event_id(body))


def event_name(body: Mapping[str, Any]) -> str | None:
    """The first non-empty name, trimmed and cut; a value that is not text counts as missing."""
    for field in NAMES:
        value = body.get(field)
        if isinstance(value, str) and (name := trimmed(value)):
            return name
    return None


def has_identity(body: Mapping[str, Any]) -> bool:
    """Whether any identity field holds an id; placeholders are ids here."""
    for field in _ANY_IDENTITY:  # noqa: SIM110 - any() would make a generator for every event
        if field in body and identifier(body[field]) is not None:
            return True
    return False


def event_id(body: Mapping[str, Any]) -> str | None:
    """The client's idempotency key; a longer one than `MAX_EVENT_ID` is replaced by its digest."""
    for field in EVENT_IDS:
        if field in body and (key := scalar(body[field])):
            if len(key) > MAX_EVENT_ID:
                return "sha256:" + hashlib.sha256(key.encode()).hexdigest()
            return key
    return None


def identifier(value: object) -> str | None:
    """An id as text: numbers become strings; trimmed, cut; None when empty or of another type."""
    text = scalar(value)
    return text[:MAX_TEXT] if text else None


def scalar(value: object) -> str | None:
    """Text or a number as trimmed, harmless text; None when empty or of another type."""
    if isinstance(value, str):
        return clean_text(value).strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = clean_number(value)
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    return None if number is None else str(number)


def trimmed(value: str) -> str:
    """Text as a name: harmless, trimmed, cut."""
    return clean_text(value).strip()[:MAX_TEXT]
