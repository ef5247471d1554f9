"""The owner's side: appends what a consumer sends to the open event store."""

import asyncio
import logging
import socket
from collections.abc import Collection, Sequence
from typing import Final, Protocol
from uuid import UUID

from hosts.remote_event_store.messages import (
    Message,
    MessageKind,
    decode_event_ids,
    decode_session_keys,
    encode_session_states,
    encode_stored_event_keys,
    read_message,
    write_message,
)
from service_core.ingestion.ports import SessionKey, SessionState, StoredEventKey

_log: Final = logging.getLogger("touchpoint.consumer")


class EncodedAppends(Protocol):
    """An open event store that takes batches encoded by another process."""

    async def append_encoded(self, batch: bytes) -> int:
        """Stores a batch as `EventStore.append` does; returns how many events were new."""

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """Returns the states of sessions."""

    async def find_events_by_id(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Sequence[StoredEventKey]:
        """Returns the stored events with these ids."""


async def serve_event_store(connection: socket.socket, store: EncodedAppends) -> None:
    """Answers the requests of one consumer in order, until it closes its end.

    An append that has begun is finished when the consumer goes away; its batch comes again and adds nothing.
    """
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    try:
        while True:
            request = await read_message(reader)
            await write_message(writer, *await _answer_or_describe_failure(request, store))
    except (OSError, EOFError):
        return
    finally:
        writer.close()


async def _answer_or_describe_failure(request: Message, store: EncodedAppends) -> tuple[MessageKind, bytes]:
    """Returns the answer to a request; a failure is logged here, and the consumer tries again."""
    try:
        if request.kind is MessageKind.APPEND:
            return MessageKind.DONE, b"%d" % await store.append_encoded(request.payload)
        if request.kind is MessageKind.EVENTS_BY_ID:
            found = await store.find_events_by_id(*decode_event_ids(request.payload))
            return MessageKind.DONE, encode_stored_event_keys(found)
        states = await store.session_states(decode_session_keys(request.payload))
        return MessageKind.DONE, encode_session_states(states)
    except Exception as fault:  # noqa: BLE001 - the consumer goes on
        _log.exception("a request of the consumer failed")
        return MessageKind.FAILED, type(fault).__name__.encode()
