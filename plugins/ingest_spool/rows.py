"""An arrival as the columns of a row, and back; the codes of time the file uses."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.plugin import Arrival, Channel, Queued

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400_000_000
_SECOND: Final = 1_000_000
_HOUR: Final = 3_600_000_000


class Row(NamedTuple):
    """An arrival as the file keeps it, without its sequence; the fields are the columns, in order."""

    workspace: bytes
    key: bytes
    channel: str
    hour: int
    event_id: str
    claimed: bool
    received_at: int
    body: bytes
    user_agent: str | None
    address: str | None
    headers: str | None


class Lane(NamedTuple):
    """What the ledger counts apart: workspace, UTC hour of receipt, key and channel."""

    workspace: bytes
    hour: int
    key: bytes
    channel: str


def micros(moment: datetime) -> int:
    """An aware instant as microseconds since 1970, exactly."""
    age = moment - _EPOCH
    return age.days * _DAY + age.seconds * _SECOND + age.microseconds


def hour_of(moment: datetime) -> int:
    """The UTC hour an aware instant lies in, counted since 1970."""
    return micros(moment) // _HOUR


def hour_from(moment: datetime) -> int:
    """The first UTC hour that does not start before an aware instant, counted since 1970."""
    return -(-micros(moment) // _HOUR)


def instant(value: int) -> datetime:
    """Microseconds since 1970 as an aware UTC instant."""
    return _EPOCH + timedelta(microseconds=value)


def hour_start(hour: int) -> datetime:
    """The aware UTC instant an hour starts."""
    return instant(hour * _HOUR)


def row(arrival: Arrival) -> Row:
    """The row of an arrival.

    Raises:
        UnicodeEncodeError: a text the file cannot keep; it must not reach a shared commit.
    """
    for text in (arrival.event_id, arrival.user_agent, arrival.address):
        if text is not None and not text.isascii():
            text.encode()
    received = micros(arrival.received_at)
    return Row(
        arrival.workspace_id.bytes,
        arrival.key_id.bytes,
        arrival.channel.value,
        received // _HOUR,
        arrival.event_id,
        arrival.claimed,
        received,
        arrival.body,
        arrival.user_agent,
        arrival.address,
        json.dumps(dict(arrival.headers)) if arrival.headers else None,
    )


def queued(seq: int, kept: tuple[Any, ...]) -> Queued:
    """An arrival from the file; ``kept`` holds the columns of a `Row`."""
    r = Row(*kept)
    arrival = Arrival(
        workspace_id=_uuid(r.workspace),
        key_id=_uuid(r.key),
        channel=Channel(r.channel),
        event_id=r.event_id,
        claimed=bool(r.claimed),
        received_at=instant(r.received_at),
        body=r.body,
        user_agent=r.user_agent,
        address=r.address,
        headers={} if r.headers is None else json.loads(r.headers),
    )
    return Queued(seq, arrival)


@lru_cache(maxsize=4096)
def _uuid(raw: bytes) -> UUID:
    return UUID(bytes=raw)
