"""Uvicorn: the fastest and strictest parser; HTTP/1.1, behind a proxy."""

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hosts.asgi import App
from hosts.request_smuggling import header_error_response
from hosts.servers import (
    BACKLOG,
    DRAIN_TIMEOUT_SECONDS,
    LINGER_SECONDS,
)
from hosts.servers.connection_limits import TOO_MANY_CONNECTIONS, ConnectionLimits
from hosts.servers.joined_writes import JoinedWrites
from hosts.upload_paths import is_upload

_MAX_HEADER_BYTES: Final = 65_536


class _ConnectionWithTimeouts(HttpToolsProtocol):
    """A connection that times out a slow request, and answers a request that arrives during shutdown.

    An error in a header is answered with JSON, and closes the connection; so is a connection above a limit.
    """

    def __init__(
        self, ended: asyncio.Event, limits: ConnectionLimits, *arguments: Any, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._counted = ExitStack()
        self.scope = cast(Any, {})
        self._ended = ended
        self._late: asyncio.TimerHandle | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._in_body = False
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its parent
        super().connection_made(cast(Any, JoinedWrites(transport, self._limits.times.answer)))
        peer = self.client[0] if self.client else None
        if not self._counted.enter_context(self._limits.count_if_below_limits(peer)):
            self._send_and_close(TOO_MANY_CONNECTIONS)
            return
        self._late = self.loop.call_later(self._limits.times.idle, self._close_if_idle)
        if self._ended.is_set():
            self.shutdown()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._header_bytes += len(data)
        super().data_received(data)
        scope: Mapping[str, Any] = self.scope
        if self._header_bytes > _MAX_HEADER_BYTES:
            self._send_error_and_close(431)
        elif "method" in scope:  # the header is there as a whole
            self._cancel_header_timeout()
        elif self._late is None:
            self._late = self.loop.call_later(self._limits.times.idle, self._close_if_idle)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_body = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; trailers, which come after a body, are left out, as no check of the headers sees them."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_body = True
        self._header_bytes = 0
        if self._ended.is_set():
            self.cycle.keep_alive = False
        if not is_upload(self.scope):
            self._start_request_timeout()

    def on_body(self, body: bytes) -> None:
        """Takes a part of a body, and begins to count what is none: trailers have the limit of a header."""
        super().on_body(body)
        self._header_bytes = 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._header_bytes = 0
        self._cancel_request_timeout()

    def on_response_complete(self) -> None:
        """Times out the rest of an upload that was answered before its end."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and self._overdue is None:
            self._start_request_timeout()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the words of the parser tell a client nothing
        self._send_error_and_close(400)

    def _send_error_and_close(self, status: int) -> None:
        """Answers an error in a header, and closes the connection once the client has had time to read the answer."""
        if self._refused:
            return
        self._cancel_header_timeout()
        if self.pipeline or not (self._is_idle() or not self.cycle.response_started):
            self._refused = True
            self.transport.close()  # an answer has begun, and another one within it would be read as part of it
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._send_and_close(header_error_response(status).to_bytes())

    def _send_and_close(self, answer: bytes) -> None:
        """Answers, reads nothing more, and closes the connection once the client has had time to read the answer."""
        self._refused = True
        self.transport.write(answer)
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """Ends the connection after the answer: the parser reads no more. A client may offer HTTP/2 with any request."""
        self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Closes the connection, after a request that still arrives is answered."""
        if self._is_idle():
            self.loop.call_later(LINGER_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._counted.close()
        cast(Any, self.transport).cancel_deadline()
        self._cancel_header_timeout()
        self._cancel_request_timeout()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _cancel_header_timeout(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _start_request_timeout(self) -> None:
        self._overdue = self.loop.call_later(self._limits.times.request, self.transport.close)

    def _cancel_request_timeout(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _close_if_idle(self) -> None:
        self._late = None
        if self._is_idle():
            self.transport.close()


class _ServerWithoutSignals(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the process, which stops more than this server."""
        yield


async def serve(
    app: App,
    listener: socket.socket,
    shutdown: asyncio.Event,
    limits: ConnectionLimits,
    *,
    http2: bool = False,  # noqa: ARG001 - uvicorn knows no HTTP/2
) -> None:
    """Serves until ``shutdown`` is set, then drains. Connections above a limit are answered 503."""
    config = uvicorn.Config(
        cast(Any, app),
        loop="none",
        lifespan="off",
        ws="none",
        http=cast(Any, partial(_ConnectionWithTimeouts, shutdown, limits)),
        log_config=None,
        log_level=logging.ERROR,  # a stranger makes a warning with each malformed request
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=limits.times.idle,  # type: ignore[arg-type] # a test takes parts of a second
        timeout_graceful_shutdown=DRAIN_TIMEOUT_SECONDS,
    )
    server = _ServerWithoutSignals(config)

    async def exit_after_shutdown() -> None:
        await shutdown.wait()
        server.should_exit = True

    stopper = asyncio.create_task(exit_after_shutdown())
    try:
        await server.serve(sockets=[listener])
    finally:
        stopper.cancel()
