"""Hypercorn: the default server; HTTP/1.1, and cleartext HTTP/2 where the settings allow it.

Told to stop, hypercorn's own loop closes every connection without a request, also one it has taken in
that moment and whose request is on its way. So connections are taken here, and it serves each of them.
It also keeps one whose client has gone for as long as one that is idle: here it ends with its client.
"""

import asyncio
import logging
import socket
from contextlib import suppress
from typing import Any, Final, cast

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config

from hosts.asgi import App, Message, Receive, Scope, Send
from hosts.servers import BACKLOG, DRAIN_TIMEOUT_SECONDS, LINGER_SECONDS
from hosts.servers.connection_limits import TOO_MANY_CONNECTIONS, ConnectionLimits
from hosts.servers.joined_writes import JoinedWrites
from hosts.servers.request_deadline import RequestDeadline
from hosts.servers.strict_http11 import ConnectionProtocol

_MAX_REQUESTS_PER_CONNECTION: Final = 1_000_000
_MAX_DISCARDED_BYTES: Final = 1_000_000
_ACCEPT_SECONDS: Final = 0.05
"""How long the event loop may need for what the kernel has just given it."""
_log: Final = logging.getLogger("touchpoint.server")


async def serve(
    app: App,
    listener: socket.socket,
    shutdown: asyncio.Event,
    limits: ConnectionLimits,
    *,
    http2: bool = False,
) -> None:
    """Serves until ``shutdown`` is set, then drains."""
    config, context, loop = (
        _build_hypercorn_config(limits.times.idle),
        WorkerContext(None),
        asyncio.get_running_loop(),
    )
    wrapped = ASGIWrapper(cast(Any, _close_connections_after_shutdown(app, shutdown)))
    connections: set[asyncio.Task[Any]] = set()

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        connections.add(task)
        task.add_done_callback(connections.discard)
        peer = writer.get_extra_info("peername")
        with limits.count_if_below_limits(peer[0] if peer else None) as is_accepted:
            if not is_accepted:
                await _answer_too_many_connections(reader, writer)
                return
            joined = JoinedWrites(writer, limits.times.answer)
            connection = _Connection(wrapped, loop, config, context, {}, reader, cast(Any, joined))
            connection.http2, connection.request_seconds = http2, limits.times.request
            try:
                await connection
            finally:
                joined.cancel_deadline()

    server = await asyncio.start_server(serve_connection, sock=listener, backlog=BACKLOG)
    await shutdown.wait()
    server.close()
    await asyncio.sleep(_ACCEPT_SECONDS)
    await _wait_for_connections(connections, LINGER_SECONDS)
    await context.terminated.set()
    await _wait_for_connections(connections, DRAIN_TIMEOUT_SECONDS)


async def _answer_too_many_connections(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers 503 at once, and closes the connection when the client has had time to read it."""
    with suppress(OSError, RuntimeError, TimeoutError):
        writer.write(TOO_MANY_CONNECTIONS)
        writer.write_eof()
        async with asyncio.timeout(LINGER_SECONDS):
            await _discard_input(reader)
    writer.transport.abort()


async def _discard_input(reader: asyncio.StreamReader) -> None:
    """Reads what a refused client still sends; closing at once would take the answer from it."""
    remaining = _MAX_DISCARDED_BYTES
    while remaining > 0 and (data := await reader.read(remaining)):
        remaining -= len(data)


class _Connection(TCPServer):
    """A connection that ends with its client, and not after an idle timeout.

    Attributes:
        http2: whether cleartext HTTP/2 is allowed.
        request_seconds: how long a whole request may take to arrive.
    """

    http2 = False
    request_seconds = 0.0

    async def _read_data(self) -> None:
        deadline = RequestDeadline(self.writer.transport, self.request_seconds)
        self.protocol = cast(Any, ConnectionProtocol(self.protocol, deadline, http2=self.http2))
        try:
            await super()._read_data()
        finally:
            deadline.stop()
        await self.idle_task.stop()

    async def _close(self) -> None:
        protocol = getattr(self, "protocol", None)
        if getattr(protocol, "flooded", False):
            self.writer.transport.abort()  # who floods may never read what closing politely waits to have sent
        if getattr(protocol, "refused", False):
            with suppress(OSError, RuntimeError, TimeoutError):
                self.writer.write_eof()
                async with asyncio.timeout(LINGER_SECONDS):
                    await _discard_input(self.reader)
        await super()._close()


def _build_hypercorn_config(idle_seconds: float) -> Config:
    config = Config()
    config.keep_alive_timeout = idle_seconds
    config.keep_alive_max_requests = _MAX_REQUESTS_PER_CONNECTION
    config.include_server_header = False
    config.errorlog = _log
    config.loglevel = "WARNING"
    return config


def _close_connections_after_shutdown(app: App, shutdown: asyncio.Event) -> App:
    """Returns ``app`` with ``connection: close`` on every response after ``shutdown``."""

    async def run_and_close_after_shutdown(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_close_after_shutdown(message: Message) -> None:
            if shutdown.is_set() and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await app(
            scope,
            receive,
            send_with_close_after_shutdown if scope.get("http_version", "2").startswith("1") else send,
        )

    return run_and_close_after_shutdown


async def _wait_for_connections(connections: set[asyncio.Task[Any]], seconds: float) -> None:
    if connections:
        await asyncio.wait(tuple(connections), timeout=seconds)
