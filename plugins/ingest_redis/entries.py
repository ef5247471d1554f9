"""An arrival as an entry of the stream and back, and the names of the keys."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from service_core.plugin import Arrival, Channel, Queued

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HOUR: Final = 3_600_000_000


class Keys:
    """The names of a deployment's keys.

    Args:
        prefix: first part of each.
    """

    def __init__(self, prefix: str) -> None:
        self.stream: Final = f"{prefix}:arrivals"
        self.sequence: Final = f"{prefix}:sequence"
        self.moved: Final = f"{prefix}:moved"
        self.ledger: Final = f"{prefix}:ledger:"
        self.quarantine: Final = f"{prefix}:quarantine:"
        self._claim = f"{prefix}:claim:".encode()

    def claim(self, arrival: Arrival) -> bytes:
        """The claim of an event id: a digest, so ids of any length cost the same; empty without an id."""
        if not arrival.claimed:
            return b""
        whole = arrival.workspace_id.bytes + arrival.event_id.encode()
        return self._claim + blake2b(whole, digest_size=16).digest()


class Entry(NamedTuple):
    """An arrival as the stream keeps it; ``hash`` and ``lane`` say where the ledger counts it."""

    hash: str
    lane: str
    received: int
    meta: bytes
    body: bytes


def micros(moment: datetime) -> int:
    """An aware instant as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def received_of(fields: Mapping[bytes, bytes]) -> int:
    """When an entry was received, in microseconds since 1970."""
    received: int = orjson.loads(fields[b"meta"])[2]
    return received


def instant(value: int) -> datetime:
    """Microseconds since 1970 as an aware UTC instant."""
    return _EPOCH + timedelta(microseconds=value)


def hash_of(workspace_id: UUID, moment: datetime) -> str:
    """Last part of the name of a ledger hash: workspace, and UTC hour since 1970."""
    return f"{workspace_id.hex}:{micros(moment) // _HOUR}"


def hours(start: datetime, end: datetime) -> range:
    """The UTC hours since 1970 that begin in ``start <= hour < end``."""
    return range(-(-micros(start) // _HOUR), -(-micros(end) // _HOUR))


def hour_start(hour: int) -> datetime:
    """The aware UTC instant an hour starts."""
    return instant(hour * _HOUR)


def lane_of(key_id: UUID, channel: Channel) -> str:
    """First part of the names of a lane's counts in a ledger hash."""
    return f"{key_id.hex}:{channel.value}"


def entry(arrival: Arrival) -> Entry:
    """The entry of an arrival.

    Raises:
        TypeError: a text that is none (a lone surrogate).
    """
    received = micros(arrival.received_at)
    sent = (
        arrival.event_id,
        arrival.claimed,
        received,
        arrival.user_agent,
        arrival.address,
        dict(arrival.headers),
    )
    return Entry(
        hash_of(arrival.workspace_id, arrival.received_at),
        lane_of(arrival.key_id, arrival.channel),
        received,
        orjson.dumps(sent),
        arrival.body,
    )


def queued(found: tuple[bytes, list[bytes]]) -> Queued:
    """An entry from the stream: id, then names and values in turn."""
    name, fields = found
    kept = dict(zip(fields[::2], fields[1::2], strict=True))
    event_id, claimed, received, user_agent, address, headers = orjson.loads(kept[b"meta"])
    workspace, _, _ = kept[b"hash"].partition(b":")
    key, _, channel = kept[b"lane"].partition(b":")
    arrival = Arrival(
        workspace_id=_uuid(workspace),
        key_id=_uuid(key),
        channel=Channel(channel.decode()),
        event_id=event_id,
        claimed=claimed,
        received_at=instant(received),
        body=kept[b"body"],
        user_agent=user_agent,
        address=address,
        headers=headers,
    )
    return Queued(int(kept.get(b"sequence") or name.partition(b"-")[0]), arrival)


@lru_cache(maxsize=4096)
def _uuid(text: bytes) -> UUID:
    return UUID(hex=text.decode())
