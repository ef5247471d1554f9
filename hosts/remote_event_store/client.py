"""The consumer's side: an event store whose file another process has open."""

import asyncio
import socket
from collections.abc import Callable, Collection, Sequence
from typing import Final
from uuid import UUID

from hosts.remote_event_store.messages import (
    MessageKind,
    decode_session_states,
    decode_stored_event_keys,
    encode_event_ids,
    encode_session_keys,
    read_message,
    write_message,
)
from service_core.analytics.ports import StoreUnavailable
from service_core.ingestion.models import Event
from service_core.ingestion.ports import SessionKey, SessionState, StoredEventKey

EncodeBatch = Callable[[Sequence[Event]], bytes]
"""Encodes events for `append_encoded` of the store."""


class RemoteEventStore:
    """The methods of an event store that a consumer calls, sent to the process that owns the store.

    Args:
        connection: one end of a pair of sockets; `serve_event_store` has the other.
        encode_batch: of the adapter of the store.
        on_disconnect: called when the other end has gone; the consumer cannot go on then.
    """

    def __init__(
        self, connection: socket.socket, encode_batch: EncodeBatch, on_disconnect: Callable[[], None]
    ) -> None:
        self._connection: Final = connection
        self._encode_batch: Final = encode_batch
        self._on_disconnect: Final = on_disconnect
        self._one_request: Final = asyncio.Lock()

    async def start(self) -> None:
        """Opens the streams of the connection."""
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._connection)

    async def aclose(self) -> None:
        """Closes the connection."""
        self._writer.close()

    async def append(self, events: Sequence[Event]) -> int:
        """Stores a batch; see `EventStore.append`.

        Raises:
            StoreUnavailable: the store failed, or its process has ended.
        """
        if not events:
            return 0
        return int(await self._request_answer(MessageKind.APPEND, self._encode_batch(events)))

    async def session_states(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """Returns the states of sessions; see `EventStore.session_states`.

        Raises:
            StoreUnavailable: the store failed, or its process has ended.
        """
        return decode_session_states(
            await self._request_answer(MessageKind.SESSION_STATES, encode_session_keys(keys))
        )

    async def find_events_by_id(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> Sequence[StoredEventKey]:
        """Returns the stored events with these ids; see `EventStore.find_events_by_id`.

        Raises:
            StoreUnavailable: the store failed, or its process has ended.
        """
        return decode_stored_event_keys(
            await self._request_answer(MessageKind.EVENTS_BY_ID, encode_event_ids(workspace_id, event_ids))
        )

    async def _request_answer(self, kind: MessageKind, payload: bytes) -> bytes:
        try:
            async with self._one_request:
                await write_message(self._writer, kind, payload)
                answer = await read_message(self._reader)
        except (OSError, EOFError) as fault:
            self._on_disconnect()
            raise StoreUnavailable from fault
        if answer.kind is MessageKind.FAILED:
            unavailable = StoreUnavailable("written" if kind is MessageKind.APPEND else "read")
            raise unavailable from RuntimeError(answer.payload.decode())
        return answer.payload
