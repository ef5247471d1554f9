"""A client that keeps its own books: what it sent, what was acknowledged, what it never learned.

It speaks raw HTTP/1.1 over asyncio streams and retries like a good client: the same event with the
same id until there is an answer. `Books.check` then compares with what a store really holds.
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
"""No service of a test is away for so long: a client gives up, so its test ends."""
_CONNECTION_ERRORS: Final = (OSError, EOFError, TimeoutError)
_RETRYABLE_STATUSES: Final = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.TOO_MANY_REQUESTS)


class Reply(NamedTuple):
    """One answer."""

    status: int
    headers: Mapping[str, str]
    body: Any


class DurabilityResult(NamedTuple):
    """What the comparison found; all three are empty when every promise was kept."""

    lost: frozenset[str]
    duplicated: frozenset[str]
    phantom: frozenset[str]


@dataclass
class SentEvents:
    """Event ids by what the client knows of them."""

    sent: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    unexpected: list[Reply] = field(default_factory=list)

    def compare_with_stored(self, stored: Collection[str]) -> DurabilityResult:
        """Compare with the ids a store holds, repeats included."""
        counts = Counter(stored)
        return DurabilityResult(
            lost=frozenset(self.acknowledged - counts.keys()),
            duplicated=frozenset(event_id for event_id, times in counts.items() if times > 1),
            phantom=frozenset(counts.keys() - self.sent),
        )


class HttpConnection:
    """One keep-alive connection, opened when needed.

    Args:
        address: ``HOST:PORT``.
        timeout_seconds: seconds after which no answer is expected any more.
    """

    def __init__(self, address: str, timeout_seconds: float = 60) -> None:
        self._patience = timeout_seconds
        host, _, port = address.rpartition(":")
        self._at = host.strip("[]"), int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST"
    ) -> Reply:
        """Send a request and read its answer.

        Raises:
            OSError, EOFError, TimeoutError: there was none; whether it took effect is unknown.
        """
        try:
            async with asyncio.timeout(self._patience):
                return await self._exchange(path, body, headers, method)
        except _CONNECTION_ERRORS:
            self.close()
            raise

    async def _exchange(self, path: str, body: bytes, headers: Mapping[str, str], method: str) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._at)
        reader, writer = self._streams
        lines = [f"{method} {path} HTTP/1.1", "Host: test", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        received = {name.lower(): value.strip() for name, _, value in pairs}
        content = await reader.readexactly(int(received.get("content-length", 0)))
        if received.get("connection") == "close":
            self.close()
        return Reply(int(head[0].split()[1]), received, json.loads(content) if content else None)

    def close(self) -> None:
        """Let go of the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def send_events_until_stopped(
    sent_events: SentEvents, connection: HttpConnection, key: str, ids: Callable[[], str], stop: asyncio.Event
) -> None:
    """Send one event after the other until ``stop`` is set, each until it is answered.

    Args:
        sent_events: written to before and after every attempt.
        connection: the client's own.
        key: write key.
        ids: gives the next event id.
        stop: ends the sending; the event in hand is finished first.

    Raises:
        TimeoutError: nobody answered for 200 seconds.
    """
    try:
        while not stop.is_set():
            event_id = ids()
            sent_events.sent.add(event_id)
            body = {"event": "purchase", "user_id": "u", "event_id": event_id}
            ask = partial(connection.post, "/track", json.dumps(body).encode(), {"X-API-Key": key})
            reply = await _retry_until_answered(sent_events, ask, {event_id})
            if reply.status == HTTPStatus.OK and (reply.body["success"] or event_id in sent_events.retried):
                sent_events.acknowledged.add(event_id)
            else:
                sent_events.unexpected.append(reply)
    finally:
        connection.close()


async def send_batches_until_stopped(
    sent_events: SentEvents,
    connection: HttpConnection,
    workspace: str,
    ids: Callable[[], str],
    stop: asyncio.Event,
) -> None:
    """The same as a browser does it: `BATCHED` events a request, under the public id of a workspace.

    Raises:
        TimeoutError: nobody answered for 200 seconds.
    """
    try:
        while not stop.is_set():
            batch = {ids() for _ in range(BATCH_SIZE)}
            sent_events.sent |= batch
            events = [{"event": "page_view", "visitor_id": "v", "event_id": one} for one in batch]
            body = json.dumps({"workspace_id": workspace, "events": events}).encode()
            reply = await _retry_until_answered(
                sent_events, partial(connection.post, "/batch", body, {}), batch
            )
            known = 0 if reply.status != HTTPStatus.OK else reply.body["accepted"] + reply.body["duplicates"]
            if known == BATCH_SIZE and (reply.body["duplicates"] == 0 or batch <= sent_events.retried):
                sent_events.acknowledged |= batch
            else:
                sent_events.unexpected.append(reply)
    finally:
        connection.close()


async def _retry_until_answered(
    sent_events: SentEvents, send: Callable[[], Awaitable[Reply]], events: set[str]
) -> Reply:
    async with asyncio.timeout(ANSWERED_WITHIN_SECONDS):
        while True:
            try:
                reply = await send()
            except _CONNECTION_ERRORS:
                sent_events.retried |= events  # unknown: the next attempt finds out
            else:
                if reply.status not in _RETRYABLE_STATUSES:
                    return reply
                if reply.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                    sent_events.retried |= events
            await asyncio.sleep(PAUSE_SECONDS)
