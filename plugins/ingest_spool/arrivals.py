"""Arrivals as a row of ``batch`` keeps them, and back; the codes of time the file uses.

Their bodies stand one behind the other, as they came. Whose they are and when they came is a JSON array of
lanes, all else one with an `Entry` for each. A place whose arrival has left is null, so the others keep
their sequences.
"""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from service_core.plugin import Arrival, Channel, Queued

PLACES: Final = 1024
"""Arrivals of a batch at most: a sequence is the batch's number times this, plus the place."""

HOUR: Final = 3_600_000_000
"""Microseconds of an hour."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_ONE: Final = "SELECT lanes, arrivals, bodies FROM batch WHERE number = ?"
_PUT: Final = "INSERT OR REPLACE INTO batch (number, waiting, lanes, arrivals, bodies) VALUES (?, ?, ?, ?, ?)"


class Lane(NamedTuple):
    """What the ledger counts apart: workspace, UTC hour of receipt, key and channel."""

    workspace: UUID
    hour: int
    key: UUID
    channel: str


class Entry(NamedTuple):
    """An arrival without its body, as it is read.

    Attributes:
        lane: its place among the lanes of the batch.
        start: where in the bodies of the batch its own begins.
    """

    lane: int
    event_id: str
    claimed: bool
    received_at: int
    user_agent: str | None
    address: str | None
    headers: dict[str, str]
    start: int
    length: int


def entries(text: str) -> list[Entry | None]:
    """The places of a batch from its JSON; None where an arrival has left."""
    return [None if place is None else Entry(*place) for place in orjson.loads(text)]


def lanes(text: str) -> list[Lane]:
    """The lanes of a batch from its JSON, where counts follow them."""
    return [lane_of(each) for each in orjson.loads(text)]


def lane_of(columns: Sequence[Any]) -> Lane:
    """A lane from JSON."""
    workspace, hour, key, channel = columns[:4]
    return Lane(uuid_of(workspace), hour, uuid_of(key), channel)


def as_json(value: object) -> str:
    """JSON text for a column; a `NamedTuple` has to be a plain tuple."""
    return orjson.dumps(value).decode()


def put(connection: sqlite3.Connection, seq: int, lane: Lane, entry: Entry, body: bytes) -> None:
    """Let one arrival wait under a sequence it had before."""
    number, place = divmod(seq, PLACES)
    known, text, bodies = connection.execute(_ONE, (number,)).fetchone() or ("[]", "[]", b"")
    all_lanes = [*orjson.loads(known), tuple(lane)]
    places = orjson.loads(text)
    places += [None] * (place + 1 - len(places))
    places[place] = tuple(entry._replace(lane=len(all_lanes) - 1, start=len(bodies), length=len(body)))
    waiting = len(places) - places.count(None)
    connection.execute(_PUT, (number, waiting, as_json(all_lanes), as_json(places), bodies + body))


def queued(seq: int, lane: Lane, entry: Entry, body: bytes) -> Queued:
    """An arrival as it was offered."""
    arrival = Arrival(
        workspace_id=lane.workspace,
        key_id=lane.key,
        channel=Channel(lane.channel),
        event_id=entry.event_id,
        claimed=entry.claimed,
        received_at=instant(entry.received_at),
        body=body,
        user_agent=entry.user_agent,
        address=entry.address,
        headers=entry.headers,
    )
    return Queued(seq, arrival)


@lru_cache(maxsize=4096)
def uuid_of(text: str) -> UUID:
    """A uuid from its text; the same few come again and again."""
    return UUID(text)


def micros(moment: datetime) -> int:
    """An aware instant as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """Microseconds since 1970 as an aware UTC instant."""
    return _EPOCH + timedelta(microseconds=value)


def hour_of(moment: datetime) -> int:
    """The UTC hour an aware instant lies in, counted since 1970."""
    return micros(moment) // HOUR


def hour_from(moment: datetime) -> int:
    """The first UTC hour that does not start before an aware instant, counted since 1970."""
    return -(-micros(moment) // HOUR)


def hour_start(hour: int) -> datetime:
    """The aware UTC instant an hour starts."""
    return instant(hour * HOUR)
