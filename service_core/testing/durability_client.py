"""An ingestion client that records which events it sent and which were acknowledged.

It sends HTTP/1.1 over asyncio streams and repeats an event with the same id until it is answered.
`SentEvents.compare_with_stored` then compares its record with the events that a store holds.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple

PAUSE_SECONDS: Final = 0.02
BATCH_SIZE: Final = 3
ANSWERED_WITHIN_SECONDS: Final = 200.0
"""A client gives up after this time, which no test's service is unavailable for."""
_CONNECTION_ERRORS: Final = (OSError, EOFError, TimeoutError)
_RETRYABLE_STATUSES: Final = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.TOO_MANY_REQUESTS)


class Reply(NamedTuple):
    """One HTTP response; the body is parsed JSON, or None when empty."""

    status: int
    headers: Mapping[str, str]
    body: Any


class DurabilityResult(NamedTuple):
    """Event ids that were lost, stored twice or never sent; all three are empty when every promise was kept."""

    lost: frozenset[str]
    duplicated: frozenset[str]
    phantom: frozenset[str]


@dataclass
class SentEvents:
    """Event ids by what the client knows of them, and unexpected replies.

    Attributes:
        sent: ids of all attempts.
        acknowledged: ids that a reply confirmed as stored.
        retried: ids of attempts without a clear reply, which may or may not be stored.
        unexpected_replies: replies that neither confirm nor allow a retry.
    """

    sent: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    unexpected_replies: list[Reply] = field(default_factory=list)

    def compare_with_stored(self, stored_event_ids: Collection[str]) -> DurabilityResult:
        """Returns acknowledged ids that are not stored, ids stored more than once, and stored ids never sent."""
        counts = Counter(stored_event_ids)
        return DurabilityResult(
            lost=frozenset(self.acknowledged - counts.keys()),
            duplicated=frozenset(event_id for event_id, times in counts.items() if times > 1),
            phantom=frozenset(counts.keys() - self.sent),
        )


class HttpConnection:
    """One keep-alive connection, opened with the first request and again after an error.

    Args:
        address: ``HOST:PORT``.
        timeout_seconds: limit per request.
    """

    def __init__(self, address: str, timeout_seconds: float = 60) -> None:
        self._timeout_seconds = timeout_seconds
        host, _, port = address.rpartition(":")
        self._host_and_port = host.strip("[]"), int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST"
    ) -> Reply:
        """Sends a request and returns its reply; closes the connection on errors.

        Raises:
            OSError, EOFError, TimeoutError: no reply; whether the request took effect is unknown.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._send_and_read_reply(path, body, headers, method)
        except _CONNECTION_ERRORS:
            self.close()
            raise

    async def _send_and_read_reply(
        self, path: str, body: bytes, headers: Mapping[str, str], method: str
    ) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._host_and_port)
        reader, writer = self._streams
        lines = [f"{method} {path} HTTP/1.1", "Host: test", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        header_lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in header_lines[1:] if line)
        received = {name.lower(): value.strip() for name, _, value in pairs}
        content = await reader.readexactly(int(received.get("content-length", 0)))
        if received.get("connection") == "close":
            self.close()
        return Reply(int(header_lines[0].split()[1]), received, json.loads(content) if content else None)

    def close(self) -> None:
        """Aborts the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def send_events_until_stopped(
    sent_events: SentEvents,
    connection: HttpConnection,
    write_key: str,
    next_event_id: Callable[[], str],
    stop_requested: asyncio.Event,
) -> None:
    """Sends one event after the other to ``/track`` until ``stop_requested`` is set; repeats each until it is answered.

    Args:
        sent_events: the record to which ids and unexpected replies are added.
        connection: a connection of this client alone; it is closed at the end.
        write_key: sent as ``X-API-Key``.
        next_event_id: returns a new event id.
        stop_requested: ends the sending after the current event is answered.

    Raises:
        TimeoutError: an event had no final reply for 200 seconds.
    """
    try:
        while not stop_requested.is_set():
            event_id = next_event_id()
            sent_events.sent.add(event_id)
            body = {"event": "purchase", "user_id": "u", "event_id": event_id}
            send_event = partial(
                connection.post, "/track", json.dumps(body).encode(), {"X-API-Key": write_key}
            )
            reply = await _retry_until_final_reply(sent_events, send_event, {event_id})
            if reply.status == HTTPStatus.OK and (reply.body["success"] or event_id in sent_events.retried):
                sent_events.acknowledged.add(event_id)
            else:
                sent_events.unexpected_replies.append(reply)
    finally:
        connection.close()


async def send_batches_until_stopped(
    sent_events: SentEvents,
    connection: HttpConnection,
    public_workspace_id: str,
    next_event_id: Callable[[], str],
    stop_requested: asyncio.Event,
) -> None:
    """Sends batches of `BATCH_SIZE` events as a browser does, to ``/batch`` with the public id of a workspace.

    Parameters and repetition are as in `send_events_until_stopped`.

    Raises:
        TimeoutError: a batch had no final reply for 200 seconds.
    """
    try:
        while not stop_requested.is_set():
            batch = {next_event_id() for _ in range(BATCH_SIZE)}
            sent_events.sent |= batch
            events = [{"event": "page_view", "visitor_id": "v", "event_id": event_id} for event_id in batch]
            body = json.dumps({"workspace_id": public_workspace_id, "events": events}).encode()
            reply = await _retry_until_final_reply(
                sent_events, partial(connection.post, "/batch", body, {}), batch
            )
            stored_count = (
                0 if reply.status != HTTPStatus.OK else reply.body["accepted"] + reply.body["duplicates"]
            )
            if stored_count == BATCH_SIZE and (reply.body["duplicates"] == 0 or batch <= sent_events.retried):
                sent_events.acknowledged |= batch
            else:
                sent_events.unexpected_replies.append(reply)
    finally:
        connection.close()


async def _retry_until_final_reply(
    sent_events: SentEvents, send: Callable[[], Awaitable[Reply]], event_ids: set[str]
) -> Reply:
    """Repeats a request on connection errors, 500 and 429; returns the first other reply.

    Ids whose attempt may have taken effect are added to `SentEvents.retried`.
    """
    async with asyncio.timeout(ANSWERED_WITHIN_SECONDS):
        while True:
            try:
                reply = await send()
            except _CONNECTION_ERRORS:
                sent_events.retried |= event_ids  # unknown: the next attempt finds out
            else:
                if reply.status not in _RETRYABLE_STATUSES:
                    return reply
                if reply.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                    sent_events.retried |= event_ids
            await asyncio.sleep(PAUSE_SECONDS)
