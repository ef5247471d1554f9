"""Ids of an event: who it is about, and which of them is strong (semantics 5)."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from service_core.intake.accept import IDENTITIES, identifier

_PLACEHOLDERS: Final = frozenset(
    {
        "null", "none", "nil", "undefined", "n/a", "na", "anon", "anonymous", "guest", "unknown", "test",
        "true", "false",
    }
)  # fmt: skip
_ZEROS: Final = re.compile(r"[0-]+")

_USER: Final = ("user_id", "userId")
_NEW_USER: Final = (*_USER, "new_user_id", "newUserId")
_ANONYMOUS: Final = ("anonymous_id", "anonymousId")
_PREVIOUS: Final = ("previous_id", "previousId")


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of an event after trimming, placeholders gone.

    Attributes:
        visitor: the device key (semantics 5.1).
        strong: the strong id, None when the event has none.
        previous: the strong id that `$alias` joins to ``strong``.
        second: the visitor id sent, where an anonymous id is the device key.
    """

    visitor: str
    anonymous: str | None
    distinct: str | None
    user: str | None
    strong: str | None
    previous: str | None = None
    second: str | None = None


def is_placeholder(value: str) -> bool:
    """Whether an id says that there is none (semantics 5.8)."""
    return value.lower() in _PLACEHOLDERS or _ZEROS.fullmatch(value) is not None


def read_ids(name: str, body: Mapping[str, Any], properties: Mapping[str, Any]) -> Ids:
    """The ids of an accepted event.

    Args:
        name: the event's name; `$identify` and `$alias` may send ids in their properties.
        body: the event; at least one of its identity fields holds an id.
        properties: its properties.
    """
    distinct, user, anonymous, visitor = (_first(body, names) for names in IDENTITIES)
    previous = None
    if name == "$identify":
        user = user or _first(properties, _USER)
        anonymous = anonymous or _first(properties, _ANONYMOUS) or _first(properties, _PREVIOUS)
    elif name == "$alias":
        previous = _first(body, _PREVIOUS) or _first(properties, _PREVIOUS)
        user = _new_id(body, properties, previous) or user
    sent = (distinct, user, anonymous, visitor)
    if any(value and not is_placeholder(value) for value in sent):
        distinct, user, anonymous, visitor = (
            None if value and is_placeholder(value) else value for value in sent
        )
    device = anonymous or visitor or distinct or user
    if device is None:
        raise ValueError("an accepted event has an identity")
    strong = _strong(user, distinct, (anonymous, visitor))
    joined = None if previous is None or previous == strong or is_placeholder(previous) else previous
    second = visitor if visitor != device else None
    return Ids(device, anonymous, distinct, user, strong, joined, second)


def _strong(user: str | None, distinct: str | None, weak: tuple[str | None, ...]) -> str | None:
    if user is None and any(other and other != distinct for other in weak):
        user = distinct
    return None if user is None or is_placeholder(user) else user


def _new_id(body: Mapping[str, Any], properties: Mapping[str, Any], previous: str | None) -> str | None:
    found = (identifier(source.get(name)) for name in _NEW_USER for source in (body, properties))
    return next((value for value in found if value and value != previous), None)


def _first(source: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        if name in source and (value := identifier(source[name])):
            return value
    return None


def generated_session(secret: bytes, visitor: str, timestamp: datetime) -> str:
    """The session id of an event sent without one: it rolls each UTC hour (semantics 6.1).

    Deterministic, so retries and late events agree.
    """
    message = f"{visitor}|{timestamp:%Y%m%d%H}".encode()
    return "sess_" + hmac.digest(secret, message, hashlib.sha256).hex()[:16]
