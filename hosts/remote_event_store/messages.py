"""The messages between a consumer and the process that owns the event store.

A message is one byte that says what it is, the length of its payload in eight bytes, and the payload.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from service_core.ingestion.ports import SessionKey, SessionState, StoredEventKey

_LENGTH_BYTES: Final = 8


class MessageKind(bytes, Enum):
    """The first byte of a message: a request of the consumer, or the answer."""

    APPEND = b"a"
    SESSION_STATES = b"s"
    EVENTS_BY_ID = b"i"
    DONE = b"d"
    FAILED = b"f"


class Message(NamedTuple):
    """A message as it was received."""

    kind: MessageKind
    payload: bytes


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Returns the next message.

    Raises:
        asyncio.IncompleteReadError: the connection ended.
    """
    head = await reader.readexactly(1 + _LENGTH_BYTES)
    return Message(MessageKind(head[:1]), await reader.readexactly(int.from_bytes(head[1:])))


async def write_message(writer: asyncio.StreamWriter, kind: MessageKind, payload: bytes) -> None:
    """Sends a message."""
    writer.write(kind.value + len(payload).to_bytes(_LENGTH_BYTES))
    writer.write(payload)
    await writer.drain()


def encode_session_keys(keys: Sequence[SessionKey]) -> bytes:
    """Returns session keys as JSON."""
    return orjson.dumps(keys)


def decode_session_keys(payload: bytes) -> list[SessionKey]:
    """Returns the session keys that `encode_session_keys` wrote."""
    return [(UUID(workspace), visitor, session) for workspace, visitor, session in orjson.loads(payload)]


def encode_session_states(states: Mapping[SessionKey, SessionState]) -> bytes:
    """Returns session states as JSON: pairs of key and state."""
    return orjson.dumps(list(states.items()))


def decode_session_states(payload: bytes) -> dict[SessionKey, SessionState]:
    """Returns the session states that `encode_session_states` wrote."""
    return {
        (UUID(workspace), visitor, session): _state_of_fields(fields)
        for (workspace, visitor, session), fields in orjson.loads(payload)
    }


def encode_event_ids(workspace_id: UUID, event_ids: Collection[str]) -> bytes:
    """Returns a workspace and event ids as JSON."""
    return orjson.dumps((workspace_id, list(event_ids)))


def decode_event_ids(payload: bytes) -> tuple[UUID, list[str]]:
    """Returns the workspace and the event ids that `encode_event_ids` wrote."""
    workspace, event_ids = orjson.loads(payload)
    return UUID(workspace), event_ids


def encode_stored_event_keys(keys: Sequence[StoredEventKey]) -> bytes:
    """Returns keys of stored events as JSON."""
    return orjson.dumps([tuple(key) for key in keys])


def decode_stored_event_keys(payload: bytes) -> list[StoredEventKey]:
    """Returns the keys of stored events that `encode_stored_event_keys` wrote."""
    return [
        StoredEventKey(event_id, seq, datetime.fromisoformat(at), source)
        for event_id, seq, at, source in orjson.loads(payload)
    ]


def _state_of_fields(fields: dict[str, object]) -> SessionState:
    campaign = fields.pop("last_campaign")
    return SessionState(
        first_at=_time_or_none(fields.pop("first_at")),
        last_campaign=None if campaign is None else tuple(campaign),  # type: ignore[arg-type]
        last_campaign_at=_time_or_none(fields.pop("last_campaign_at")),
        **fields,  # type: ignore[arg-type] # texts
    )


def _time_or_none(text: object) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
