"""Arrivals as a row of ``batch`` keeps them, and back; the codes of time the file uses.

Their bodies stand one behind the other, as they came; all else is one JSON array with an `Entry` for
each. A place whose arrival has left is null, so the others keep their sequences.
"""

import sqlite3
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from service_core.plugin import Arrival, Channel, Queued

PLACES: Final = 1024
"""Arrivals of a batch at most: a sequence is the batch's number times this, plus the place."""

HOUR: Final = 3_600_000_000
"""Microseconds of an hour."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_ONE: Final = "SELECT arrivals, bodies FROM batch WHERE number = ?"
_PUT: Final = "INSERT OR REPLACE INTO batch (number, waiting, arrivals, bodies) VALUES (?, ?, ?, ?)"


class Lane(NamedTuple):
    """What the ledger counts apart: workspace, UTC hour of receipt, key and channel."""

    workspace: UUID
    hour: int
    key: UUID
    channel: str


class Entry(NamedTuple):
    """An arrival without its body, as it is read; ``start`` and ``length`` tell where that stands."""

    workspace: str
    key: str
    channel: str
    event_id: str
    claimed: bool
    received_at: int
    user_agent: str | None
    address: str | None
    headers: dict[str, str]
    start: int
    length: int

    @property
    def lane(self) -> Lane:
        """Where the ledger counts it."""
        return Lane(uuid_of(self.workspace), self.received_at // HOUR, uuid_of(self.key), self.channel)


def entries(text: str) -> list[Entry | None]:
    """The places of a batch from its JSON; None where an arrival has left."""
    return [None if place is None else Entry(*place) for place in orjson.loads(text)]


def as_json(value: object) -> str:
    """JSON text for a column; a `NamedTuple` has to be a plain tuple."""
    return orjson.dumps(value).decode()


def put(connection: sqlite3.Connection, seq: int, entry: Entry, body: bytes) -> None:
    """Let one arrival wait under a sequence it had before."""
    number, place = divmod(seq, PLACES)
    text, bodies = connection.execute(_ONE, (number,)).fetchone() or ("[]", b"")
    places = orjson.loads(text)
    places += [None] * (place + 1 - len(places))
    places[place] = tuple(entry._replace(start=len(bodies), length=len(body)))
    waiting = len(places) - places.count(None)
    connection.execute(_PUT, (number, waiting, as_json(places), bodies + body))


def queued(seq: int, entry: Entry, body: bytes) -> Queued:
    """An arrival as it was offered."""
    arrival = Arrival(
        workspace_id=uuid_of(entry.workspace),
        key_id=uuid_of(entry.key),
        channel=Channel(entry.channel),
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
