"""Parses the identifiers of an event and selects the strong one."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from service_core.ingestion.event_names import ALIAS_EVENT, IDENTIFY_EVENT
from service_core.ingestion.validation import IDENTITY_FIELDS, trimmed_identifier_or_none

_PLACEHOLDERS: Final = frozenset(
    {
        "null", "none", "nil", "undefined", "n/a", "na", "anon", "anonymous", "guest", "unknown", "test",
        "true", "false",
    }
)  # fmt: skip
_ZEROS: Final = re.compile(r"[0-]+")
_ZERO_CHARACTERS: Final = frozenset("0-")

_USER_ID_FIELDS: Final = ("user_id", "userId")
_NEW_USER_ID_FIELDS: Final = (*_USER_ID_FIELDS, "new_user_id", "newUserId")
_ANONYMOUS_ID_FIELDS: Final = ("anonymous_id", "anonymousId")
_PREVIOUS_ID_FIELDS: Final = ("previous_id", "previousId")


class EventIds(NamedTuple):
    """The trimmed identifiers of an event, without placeholders.

    Attributes:
        visitor_id: id of the device: the first of anonymous, visitor, distinct and user id.
        strong_id: id of the user; None if the event has none.
        aliased_id: the id that `$alias` merges into ``strong_id``.
        sent_visitor_id: the visitor id sent, if another id is that of the device.
    """

    visitor_id: str
    anonymous_id: str | None
    distinct_id: str | None
    user_id: str | None
    strong_id: str | None
    aliased_id: str | None = None
    sent_visitor_id: str | None = None


def is_placeholder_id(value: str) -> bool:
    """Returns whether an id is a placeholder such as ``null`` or ``undefined``."""
    return value.lower() in _PLACEHOLDERS or (
        value[:1] in _ZERO_CHARACTERS and _ZEROS.fullmatch(value) is not None
    )


def parse_event_ids(event_name: str, body: Mapping[str, Any], properties: Mapping[str, Any]) -> EventIds:
    """Returns the identifiers of a validated event. Placeholders are dropped unless all ids are placeholders.

    Args:
        event_name: the event's name; `$identify` and `$alias` may send ids in their properties.
        body: the event; at least one of its identity fields holds an id.
        properties: its properties.
    """
    distinct, user, anonymous, visitor = (_first_identifier(body, names) for names in IDENTITY_FIELDS)
    previous = None
    if event_name == IDENTIFY_EVENT:
        user = user or _first_identifier(properties, _USER_ID_FIELDS)
        anonymous = (
            anonymous
            or _first_identifier(properties, _ANONYMOUS_ID_FIELDS)
            or _first_identifier(properties, _PREVIOUS_ID_FIELDS)
        )
    elif event_name == ALIAS_EVENT:
        previous = _first_identifier(body, _PREVIOUS_ID_FIELDS) or _first_identifier(
            properties, _PREVIOUS_ID_FIELDS
        )
        user = _first_new_user_id_other_than(body, properties, previous) or user
    sent = (distinct, user, anonymous, visitor)
    real = [None if value and is_placeholder_id(value) else value for value in sent]
    if any(real):
        distinct, user, anonymous, visitor = real
    device = anonymous or visitor or distinct or user
    if device is None:
        raise ValueError("an accepted event has an identity")
    strong = _user_id_or_separate_distinct_id(user, distinct, (anonymous, visitor))
    aliased = None if previous is None or previous == strong or is_placeholder_id(previous) else previous
    second = visitor if visitor != device else None
    return EventIds(device, anonymous, distinct, user, strong, aliased, second)


def _user_id_or_separate_distinct_id(
    user_id: str | None, distinct_id: str | None, weak_ids: tuple[str | None, ...]
) -> str | None:
    """Returns the user id, or else the distinct id if a different weak id was sent; None for a placeholder."""
    if user_id is None and not {distinct_id, None}.issuperset(weak_ids):
        user_id = distinct_id
    return None if user_id is None or is_placeholder_id(user_id) else user_id


def _first_new_user_id_other_than(
    body: Mapping[str, Any], properties: Mapping[str, Any], previous_id: str | None
) -> str | None:
    """Returns the first new user id of body or properties that is not the previous id."""
    candidates = (
        trimmed_identifier_or_none(source.get(name))
        for name in _NEW_USER_ID_FIELDS
        for source in (body, properties)
    )
    return next((value for value in candidates if value and value != previous_id), None)


def _first_identifier(fields: Mapping[str, Any], field_names: Iterable[str]) -> str | None:
    for name in field_names:
        if name in fields and (value := trimmed_identifier_or_none(fields[name])):
            return value
    return None


def generate_hourly_session_id(workspace_secret: bytes, visitor_id: str, timestamp: datetime) -> str:
    """Returns the session id of an event without one: one per visitor and UTC hour.

    Deterministic, so retries and late events agree.
    """
    message = f"{visitor_id}|{timestamp:%Y%m%d%H}".encode()
    return "sess_" + hmac.digest(workspace_secret, message, hashlib.sha256).hex()[:16]
