"""The format of a row of ``batch``: its events, ledger keys and times.

Bodies are concatenated as they were received. Their ledger keys are one JSON array, all other values another with a
`StoredEvent` for each. The element of a removed event is null, so that the others keep their sequence numbers.
"""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from service_core.plugin import IngestEndpoint, QueuedEvent, ReceivedEvent

IGNORED_PREFIX: Final = "ignored:"
"""First part of the reasons of stored events with a part that could not be used; the other reasons are of rejected events."""

MAX_EVENTS_PER_BATCH: Final = 1024
"""Arrivals of a batch at most: a sequence is the batch's number times this, plus the place."""

HOUR_MICROSECONDS: Final = 3_600_000_000
"""Microseconds of an hour."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

SELECT_BATCH: Final = "SELECT lanes, arrivals, bodies FROM batch WHERE number = ?"
_REPLACE_BATCH: Final = (
    "INSERT OR REPLACE INTO batch (number, waiting, lanes, arrivals, bodies) VALUES (?, ?, ?, ?, ?)"
)


class LedgerKey(NamedTuple):
    """The key of a ledger row: workspace, UTC hour of receipt, write key and channel."""

    workspace: UUID
    hour: int
    key: UUID
    channel: str


class StoredEvent(NamedTuple):
    """A received event without its body.

    Attributes:
        ledger_key: the index of its ledger key in the batch.
        body_start: the offset of its body in the bodies of the batch.
    """

    ledger_key: int
    event_id: str
    has_claim: bool
    received_at: int
    user_agent: str | None
    address: str | None
    headers: dict[str, str]
    body_start: int
    body_length: int


def parse_events(text: str) -> list[StoredEvent | None]:
    """Parses the events of a batch; None for an event that was removed."""
    return [None if place is None else StoredEvent(*place) for place in orjson.loads(text)]


def parse_ledger_keys(text: str) -> list[LedgerKey]:
    """Parses the ledger keys of a batch."""
    return [parse_ledger_key(each) for each in orjson.loads(text)]


def parse_ledger_key(columns: Sequence[Any]) -> LedgerKey:
    """Parses a ledger key."""
    workspace, hour, key, channel = columns[:4]
    return LedgerKey(parse_uuid(workspace), hour, parse_uuid(key), channel)


def dump_json(value: object) -> str:
    """Returns JSON text for a column; a `NamedTuple` has to be a plain tuple."""
    return orjson.dumps(value).decode()


def reinsert_at_former_seq(
    connection: sqlite3.Connection, former_seq: int, ledger_key: LedgerKey, event: StoredEvent, body: bytes
) -> None:
    """Puts an event back in the queue under its former sequence number."""
    number, place = divmod(former_seq, MAX_EVENTS_PER_BATCH)
    known, text, bodies = connection.execute(SELECT_BATCH, (number,)).fetchone() or ("[]", "[]", b"")
    all_lanes = [*orjson.loads(known), tuple(ledger_key)]
    places = orjson.loads(text)
    places += [None] * (place + 1 - len(places))
    places[place] = tuple(
        event._replace(ledger_key=len(all_lanes) - 1, body_start=len(bodies), body_length=len(body))
    )
    waiting = len(places) - places.count(None)
    connection.execute(
        _REPLACE_BATCH, (number, waiting, dump_json(all_lanes), dump_json(places), bodies + body)
    )


def to_queued_event(seq: int, ledger_key: LedgerKey, event: StoredEvent, body: bytes) -> QueuedEvent:
    """Returns a queued event."""
    arrival = ReceivedEvent(
        workspace_id=ledger_key.workspace,
        key_id=ledger_key.key,
        channel=IngestEndpoint(ledger_key.channel),
        event_id=event.event_id,
        claimed=event.has_claim,
        received_at=from_microseconds(event.received_at),
        body=body,
        user_agent=event.user_agent,
        address=event.address,
        headers=event.headers,
    )
    return QueuedEvent(seq, arrival)


@lru_cache(maxsize=4096)
def parse_uuid(text: str) -> UUID:
    """Parses a UUID; the results are cached."""
    return UUID(text)


def to_microseconds(moment: datetime) -> int:
    """Returns an aware instant as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """Returns microseconds since 1970 as an aware UTC instant."""
    return _EPOCH + timedelta(microseconds=value)


def hour_number(moment: datetime) -> int:
    """Returns the UTC hour of an aware instant, counted since 1970."""
    return to_microseconds(moment) // HOUR_MICROSECONDS


def first_full_hour(moment: datetime) -> int:
    """Returns the first UTC hour that does not start before an aware instant, counted since 1970."""
    return -(-to_microseconds(moment) // HOUR_MICROSECONDS)


def hour_start(hour: int) -> datetime:
    """Returns the aware UTC instant at which an hour starts."""
    return from_microseconds(hour * HOUR_MICROSECONDS)
