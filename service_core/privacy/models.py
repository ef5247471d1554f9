"""Requests to erase a person, and what identifies the person in each store."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from service_core.analytics.install_attribution.models import visit_key
from service_core.ingestion.models import Event
from service_core.kernel.ids import new_id

ERASED: Final = "[erased]"
"""Replaces the id of an erased person."""

MIN_REPLACED_ID_LENGTH: Final = 4
"""Shorter ids are ordinary words and numbers in other texts."""

_MIN_CONTAINED_ID_LENGTH: Final = 8


class ErasureStatus(StrEnum):
    """State of an erasure."""

    REQUESTED = "requested"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The erasure of one person. A completed one is the tombstone of the person, and holds no id.

    Attributes:
        requested_by: e-mail of the owner, or ``command line``.
        person_id: any id or e-mail of the person; None once the erasure is completed, or when a tombstone requests it.
        salt, id_digests: keyed digests of all ids of the person, by which a restored store finds them again.
        certificate: what was removed where, with counts, digest and time; None until it is completed.
    """

    id: UUID
    workspace_id: UUID
    requested_by: str
    requested_at: datetime
    person_id: str | None = field(repr=False)
    salt: str
    id_digests: tuple[str, ...] = ()
    status: ErasureStatus = ErasureStatus.REQUESTED
    completed_at: datetime | None = None
    certificate: Mapping[str, Any] | None = None


def request_erasure(workspace_id: UUID, person_id: str, requested_by: str, now: datetime) -> Erasure:
    """Returns a new request to erase a person."""
    return Erasure(
        id=new_id(),
        workspace_id=workspace_id,
        requested_by=requested_by,
        requested_at=now,
        person_id=person_id.strip(),
        salt=secrets.token_hex(16),
    )


def digest_id(salt: str, id_: str) -> str:
    """Returns the keyed digest of an id."""
    return hmac.new(salt.encode(), id_.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class PersonSubject:
    """The ids of one person.

    Attributes:
        ids: all ids and e-mail addresses that the events of the person carry.
        event_ids: ids of the events.
        addresses: IP addresses that the events still have.
        visits: keys of the visits of the events.
    """

    ids: frozenset[str]
    event_ids: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    visits: frozenset[str] = frozenset()

    def is_mentioned_in(self, value: Any) -> bool:
        """Returns whether a JSON value has one of the ids as a text or a number, at any depth; short numbers count nowhere."""
        match value:
            case str():
                return value in self.ids
            case int() if not isinstance(value, bool):
                return str(value) in self.ids and len(str(value)) >= MIN_REPLACED_ID_LENGTH
            case Mapping():
                return any(map(self.is_mentioned_in, (*value.keys(), *value.values())))
            case list() | tuple():
                return any(map(self.is_mentioned_in, value))
            case _:
                return False

    def redact(self, value: Any) -> Any:
        """Returns a JSON value with all ids replaced, at any depth; short ids and numbers only where they are the whole value."""
        match value:
            case str():
                return self._redact_text(value)
            case int() if self.is_mentioned_in(value):
                return ERASED
            case Mapping():
                return {self._redact_text(str(key)): self.redact(item) for key, item in value.items()}
            case list() | tuple():
                return [self.redact(item) for item in value]
            case _:
                return value

    def _redact_text(self, text: str) -> str:
        names = (*self.ids, *self.event_ids)
        if len(text) >= MIN_REPLACED_ID_LENGTH and text in names:
            return ERASED
        for name in sorted(names, key=len, reverse=True):
            if len(name) >= _MIN_CONTAINED_ID_LENGTH and name in text:
                text = text.replace(name, ERASED)
        return text


def subject_of_events(person_id: str | None, events: Iterable[Event]) -> PersonSubject:
    """Returns what identifies a person by the person's events and the id that was given."""
    ids: set[str] = {person_id} if person_id else set()
    event_ids, addresses, visits = set(), set(), set()
    for event in events:
        event_ids.add(event.event_id)
        visits.add(visit_key(event))
        if event.ip is not None:
            addresses.add(event.ip)
        sent = (event.visitor_id, event.anonymous_id, event.distinct_id, event.user_id, event.strong_id)
        ids.update(id_ for id_ in (*sent, event.sent_visitor_id) if id_)
        ids.update((event.external_ids or {}).values())
        ids.update(_contact_texts(event.event_data))
    return PersonSubject(frozenset(ids), frozenset(event_ids), frozenset(addresses), frozenset(visits))


_CONTACT_KEYS: Final = frozenset({"email", "phone"})


def _contact_texts(data: Mapping[str, Any]) -> set[str]:
    places = (data, data.get("traits"))
    return {
        text.strip()
        for place in places
        if isinstance(place, Mapping)
        for key, text in place.items()
        if key in _CONTACT_KEYS and isinstance(text, str) and text.strip()
    }
