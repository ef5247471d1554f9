"""The format of stream entries, and the names of the keys."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from service_core.plugin import IngestEndpoint, QueuedEvent, ReceivedEvent

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HOUR: Final = 3_600_000_000


class KeyNames:
    """The names of the keys of a deployment.

    Args:
        prefix: first part of each.
    """

    def __init__(self, prefix: str) -> None:
        self.stream: Final = f"{prefix}:arrivals"
        self.version: Final = f"{prefix}:version"
        self.sequence: Final = f"{prefix}:sequence"
        self.moved: Final = f"{prefix}:moved"
        self.moved_received: Final = f"{prefix}:moved_received"
        self.ledger: Final = f"{prefix}:ledger:"
        self.quarantine: Final = f"{prefix}:quarantine:"
        self._claim = f"{prefix}:claim:".encode()

    def claim_key_or_empty(self, event: ReceivedEvent) -> bytes:
        """Returns the key of the claim of an event id: a digest, so ids of any length cost the same; empty without an id."""
        if not event.claimed:
            return b""
        whole = event.workspace_id.bytes + event.event_id.encode()
        return self._claim + blake2b(whole, digest_size=16).digest()


class StreamEntry(NamedTuple):
    """A received event in the stream; ``ledger_hash`` and ``ledger_field`` say where the ledger counts it."""

    ledger_hash: str
    ledger_field: str
    received: int
    meta: bytes
    body: bytes


def to_microseconds(moment: datetime) -> int:
    """Returns an aware instant as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def read_received_at(fields: Mapping[bytes, bytes]) -> int:
    """Returns when an entry was received, in microseconds since 1970."""
    received: int = orjson.loads(fields[b"meta"])[2]
    return received


def from_microseconds(value: int) -> datetime:
    """Returns microseconds since 1970 as an aware UTC instant."""
    return _EPOCH + timedelta(microseconds=value)


def ledger_hash_name(workspace_id: UUID, moment: datetime) -> str:
    """Returns the last part of the name of a ledger hash: workspace, and UTC hour since 1970."""
    return f"{workspace_id.hex}:{to_microseconds(moment) // _HOUR}"


def hour_numbers(start: datetime, end: datetime) -> range:
    """Returns the UTC hours since 1970 that begin in ``start <= hour < end``."""
    return range(-(-to_microseconds(start) // _HOUR), -(-to_microseconds(end) // _HOUR))


def hour_start(hour: int) -> datetime:
    """Returns the aware UTC instant at which an hour starts."""
    return from_microseconds(hour * _HOUR)


def ledger_field_prefix(key_id: UUID, channel: IngestEndpoint) -> str:
    """Returns the first part of the fields in a ledger hash of a key and channel."""
    return f"{key_id.hex}:{channel.value}"


def build_stream_entry(event: ReceivedEvent) -> StreamEntry:
    """Returns the stream entry of a received event.

    Raises:
        TypeError: a text that is none (a lone surrogate).
    """
    received = to_microseconds(event.received_at)
    sent = (
        event.event_id,
        event.claimed,
        received,
        event.user_agent,
        event.address,
        dict(event.headers),
    )
    return StreamEntry(
        ledger_hash_name(event.workspace_id, event.received_at),
        ledger_field_prefix(event.key_id, event.channel),
        received,
        orjson.dumps(sent),
        event.body,
    )


def to_queued_event(stream_entry: tuple[bytes, list[bytes]]) -> QueuedEvent:
    """Converts a stream entry, an id with names and values in turn, to a queued event."""
    name, fields = stream_entry
    kept = dict(zip(fields[::2], fields[1::2], strict=True))
    event_id, claimed, received, user_agent, address, headers = orjson.loads(kept[b"meta"])
    workspace, _, _ = kept[b"hash"].partition(b":")
    key, _, channel = kept[b"lane"].partition(b":")
    arrival = ReceivedEvent(
        workspace_id=_parse_uuid(workspace),
        key_id=_parse_uuid(key),
        channel=IngestEndpoint(channel.decode()),
        event_id=event_id,
        claimed=claimed,
        received_at=from_microseconds(received),
        body=kept[b"body"],
        user_agent=user_agent,
        address=address,
        headers=headers,
    )
    return QueuedEvent(int(kept.get(b"sequence") or name.partition(b"-")[0]), arrival)


@lru_cache(maxsize=4096)
def _parse_uuid(text: bytes) -> UUID:
    return UUID(hex=text.decode())
