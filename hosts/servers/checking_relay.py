"""Checks requests in front of a server whose parser is lenient, and relays them to it and its answers back.

Granian accepts header lines that end with a line feed only and lengths that are repeated, and it answers errors of a
header without a body; none of this can be configured. So its listener is on the loopback network, and the connections
of clients end here: a strict parser reads along, what it refuses is answered with JSON, and the limits on connections
and on time hold as with the other servers.
"""

import asyncio
import socket
from contextlib import ExitStack, suppress
from typing import Any, Final, cast

import httptools

from hosts.asgi import App, Message, Receive, Scope, Send
from hosts.request_smuggling import header_error_response, is_unambiguous_request
from hosts.servers import BACKLOG, DRAIN_TIMEOUT_SECONDS, LINGER_SECONDS
from hosts.servers.answer_deadline import AnswerDeadline
from hosts.servers.connection_limits import TOO_MANY_CONNECTIONS, ConnectionLimits
from hosts.upload_paths import is_upload

_MAX_HEADER_BYTES: Final = 65_536
_MAX_HEADERS: Final = 100
_HTTP2_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_CONTINUE: Final = b"HTTP/1.1 100 "

Headers = list[tuple[bytes, bytes]]


class CheckingRelay:
    """Accepts the connections of clients, and relays checked requests to a server in the same process.

    Args:
        listener: where clients connect.
        backend: ``(host, port)`` of the server behind, which has to serve the application of `serve_relayed`.
        limits: on connections and on time.
        http2: whether a connection that begins with the preface of HTTP/2 is relayed unchecked: its framing leaves no
            two ways to read a request.
    """

    def __init__(
        self, listener: socket.socket, backend: tuple[str, int], limits: ConnectionLimits, *, http2: bool
    ) -> None:
        self._listener = listener
        self.backend: Final = backend
        self.limits: Final = limits
        self.http2: Final = http2
        self.is_stopping = False
        self._connection_ended = asyncio.Event()
        self.connections: Final[set[RelayedConnection]] = set()
        self._by_backend_port: dict[int, RelayedConnection] = {}

    def serve_relayed(self, app: App) -> App:
        """Returns ``app`` as the server behind has to run it: with the address of the client, and known to this relay."""

        async def run_for_relayed_connection(scope: Scope, receive: Receive, send: Send) -> None:
            host, port = scope["client"]
            connection = self._by_backend_port.get(int(port)) if host == self.backend[0] else None
            if connection is None:
                return  # another program of this machine; the server answers with an error
            connection.start_running()

            async def send_and_close_when_stopping(message: Message) -> None:
                if message["type"] == "http.response.start":
                    connection.start_answer()
                    if (self.is_stopping or connection.is_last) and scope["http_version"] != "2":
                        message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
                elif message["type"] == "http.response.body" and scope["method"] != "HEAD":
                    connection.expect_answer_bytes(len(message.get("body", b"")))
                await send(message)

            try:
                await app({**scope, "client": connection.peer}, receive, send_and_close_when_stopping)
            finally:
                connection.finish_running()

        return run_for_relayed_connection

    async def relay_until(self, shutdown: asyncio.Event) -> None:
        """Relays until ``shutdown`` is set, then waits for the requests under way."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: RelayedConnection(self), sock=self._listener, backlog=BACKLOG
        )
        await shutdown.wait()
        self.is_stopping = True
        server.close()
        for connection in tuple(self.connections):
            connection.await_next_request()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS + DRAIN_TIMEOUT_SECONDS):
                while self.connections:
                    self._connection_ended.clear()
                    await self._connection_ended.wait()
        for connection in tuple(self.connections):
            connection.close()

    def register(self, connection: "RelayedConnection", backend_port: int) -> None:
        """Makes a connection known by its port on the side of the server."""
        self._by_backend_port[backend_port] = connection

    def unregister(self, connection: "RelayedConnection", backend_port: int) -> None:
        """Forgets the port of a connection, which may be that of a newer one by now."""
        if self._by_backend_port.get(backend_port) is connection:
            del self._by_backend_port[backend_port]

    def forget(self, connection: "RelayedConnection") -> None:
        """Drops a connection that has ended."""
        self.connections.discard(connection)
        self._connection_ended.set()


class RelayedConnection(asyncio.Protocol):
    """The connection of a client.

    Attributes:
        peer: address and port of the client.
        answers: answers the application has begun.
        is_last: whether the client sends nothing more that is read.
        deadline: of the answer.
    """

    peer: tuple[str, int]
    deadline: AnswerDeadline
    _transport: asyncio.Transport

    def __init__(self, relay: CheckingRelay) -> None:
        self._relay = relay
        self._counted = ExitStack()
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._backend: asyncio.Transport | None = None
        self._backend_port = 0
        self._unsent: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._target = b""
        self._headers: Headers = []
        self._header_bytes = 0
        self._unfinished = self.answers = 0
        self._in_request = self._is_http2 = self._is_malformed = self.is_last = False
        self._has_begun = self._has_run = False
        self._unrelayed_bytes = 0
        self._refusal: bytes | None = None
        self._refusal_sent = False

    @property
    def is_busy(self) -> bool:
        """Whether a request has begun that the application has not finished."""
        return self._in_request or self._unfinished > 0

    @property
    def _has_answer_to_send(self) -> bool:
        """Whether a part of an answer has not come from the server behind, or has not gone to the client."""
        return self._unrelayed_bytes > 0 or self._transport.get_write_buffer_size() > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counts the connection, and connects it to the server; above a limit it is answered 503."""
        self._transport = cast(asyncio.Transport, transport)
        self._relay.connections.add(self)
        peer = transport.get_extra_info("peername")
        self.peer = (peer[0], peer[1]) if peer else ("", 0)
        self.deadline = AnswerDeadline(transport, self._relay.limits.times.answer)
        if not self._counted.enter_context(self._relay.limits.count_if_below_limits(self.peer[0] or None)):
            self._send_and_close(TOO_MANY_CONNECTIONS)
            return
        self.await_next_request()

    def data_received(self, data: bytes) -> None:
        """Checks what has come, and relays it unless it is malformed."""
        if self._refusal is not None or self.is_last:
            return
        if self._relay.http2 and not self._has_begun and data.startswith(_HTTP2_PREFACE):
            self._is_http2 = True
        self._has_begun = True
        if not self._is_http2:
            data = self._parse_or_refuse(data)
        if self._refusal is None:
            self._relay_to_backend(data)

    def _parse_or_refuse(self, data: bytes) -> bytes:
        """Reads along, and refuses what is malformed; returns the data without what follows an offer to upgrade."""
        self._header_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.is_last = True
            data = data[: upgrade.args[0]]
        except httptools.HttpParserError:
            self._is_malformed = True
        if self._is_malformed:
            self._send_error_after_begun_answers(400)
        elif self._header_bytes > _MAX_HEADER_BYTES:
            self._send_error_after_begun_answers(431)
        return data

    def on_message_begin(self) -> None:
        """Begins another request."""
        self._target, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        """Takes a part of the target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; trailers, which come after a body, are left out, as granian does."""
        if not self._in_request:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Checks a header, and begins the time its body has."""
        scope = self._build_scope()
        if scope is None or len(self._headers) > _MAX_HEADERS or not is_unambiguous_request(scope):
            self._is_malformed = True
            return
        self._unfinished += 1
        self._header_bytes = 0
        self._in_request = True
        self._stop_timer()
        if not is_upload(scope):
            self._close_after(self._relay.limits.times.request)

    def on_body(self, body: bytes) -> None:  # noqa: ARG002 - it is relayed as it came
        """Begins to count what is no body: trailers have the limit of a header."""
        self._header_bytes = 0

    def on_message_complete(self) -> None:
        """Ends the time of a request."""
        self._in_request = False
        self._header_bytes = 0
        self._stop_timer()
        self.await_next_request()

    def _build_scope(self) -> dict[str, Any] | None:
        """Returns what the checks need of a request; None when its target cannot be read."""
        try:
            path = httptools.parse_url(self._target).path or b""
        except httptools.HttpParserInvalidURLError:
            path = self._target if self._target == b"*" else b""
        return {
            "method": self._parser.get_method().decode("ascii"),
            "path": path.decode("latin-1"),
            "http_version": self._parser.get_http_version(),
            "headers": self._headers,
        }

    def start_running(self) -> None:
        """Notes that the application has got a request."""
        self._has_run = True
        if self._is_http2:
            self._unfinished += 1
            self._stop_timer()

    def start_answer(self) -> None:
        """Notes that the application has begun an answer, and begins the time that it has."""
        self.answers += 1
        self._unrelayed_bytes = max(self._unrelayed_bytes, 0) + 1
        self.deadline.start_answer()

    def expect_answer_bytes(self, count: int) -> None:
        """Notes that the server behind has got this many bytes of an answer, which it has to send."""
        if not self._is_http2:  # its server keeps what a client has no window for, or has cancelled
            self._unrelayed_bytes += count

    def finish_running(self) -> None:
        """Notes that the application has answered a request."""
        self._unfinished -= 1
        self.await_next_request()

    def await_next_request(self) -> None:
        """Begins the time in which the next request has to come, unless one is under way or none can come."""
        if self.is_busy or self._refusal is not None:
            return
        is_ending = self.is_last or self._relay.is_stopping
        self._close_after(LINGER_SECONDS if is_ending else self._relay.limits.times.idle)

    def _relay_to_backend(self, data: bytes) -> None:
        if self._backend is not None:
            self._backend.write(data)
            return
        if not self._unsent:
            self._connecting = self._loop.create_task(self._connect_to_server_and_send_waiting_data())
        self._unsent.append(data)

    async def _connect_to_server_and_send_waiting_data(self) -> None:
        try:
            transport, _ = await self._loop.create_connection(lambda: _Backend(self), *self._relay.backend)
        except OSError:
            self.close()
            return
        if self._transport.is_closing():
            transport.abort()
            return
        self._backend = transport
        self._backend_port = transport.get_extra_info("sockname")[1]
        self._relay.register(self, self._backend_port)
        transport.writelines(self._unsent)
        self._unsent.clear()

    def relay_to_client(self, data: bytes) -> None:
        """Relays a part of an answer; an error that the server answers by itself becomes a refusal with a body."""
        if self._refusal_sent:
            return
        if self._is_http2 or self._has_run or data.startswith(_CONTINUE):
            self._unrelayed_bytes -= len(data)
            self._transport.write(data)
            self.deadline.watch_unsent_bytes()
            self.await_next_request()  # the application may have finished long before its answer has come
        else:
            self._send_error_after_begun_answers(400)

    def backend_ended(self) -> None:
        """Closes the connection once what the server has sent is sent, and a refusal that had to wait for it."""
        self._relay.unregister(self, self._backend_port)
        self._unrelayed_bytes = 0
        if self._refusal and not self._refusal_sent:
            self._send_and_close(self._refusal)
        elif not self._refusal_sent:
            self._transport.close()

    def pause_writing(self) -> None:
        """Takes no more of an answer while the client reads too slowly."""
        if self._backend is not None:
            self._backend.pause_reading()

    def resume_writing(self) -> None:
        """Goes on with the answer."""
        if self._backend is not None:
            self._backend.resume_reading()

    def pause_client(self) -> None:
        """Reads no more of a request that the server takes too slowly."""
        self._transport.pause_reading()

    def resume_client(self) -> None:
        """Goes on reading."""
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        """Leaves the connection open for the answer to what has come, if there is any."""
        self.is_last = True
        is_unanswered = self.is_busy or self._has_answer_to_send
        return self._refusal is None and not self._in_request and is_unanswered

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the end is all that counts
        """Forgets the connection, and ends the one to the server."""
        self._counted.close()
        self._stop_timer()
        self.deadline.cancel()
        self._relay.forget(self)
        self._relay.unregister(self, self._backend_port)
        if self._backend is not None:
            self._backend.abort()

    def close(self) -> None:
        """Closes the connection once what is written is sent."""
        self._transport.close()

    def _send_error_after_begun_answers(self, status: int) -> None:
        """Answers an error in a request behind the answers before it, unless one of them has begun and not ended."""
        self._refusal = header_error_response(status).to_bytes()
        if self._backend is None or not self.answers:
            if self._backend is not None:
                self._backend.abort()
            self._send_and_close(self._refusal)
        elif self.is_busy:
            self._transport.close()
        else:
            self._close_after(LINGER_SECONDS)
            self._backend.write_eof()

    def _send_and_close(self, answer: bytes) -> None:
        """Answers, reads nothing more, and closes the connection once the client has had time to read the answer."""
        self._refusal, self._refusal_sent = answer, True
        if not self._transport.is_closing():
            self._transport.write(answer)
            self._transport.write_eof()
        self._close_after(LINGER_SECONDS)

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(seconds, self._close_unless_sending, seconds)

    def _close_unless_sending(self, seconds: float) -> None:
        """Closes the connection, but later while an answer is on its way to the client."""
        if self._has_answer_to_send and not self._in_request:
            self._close_after(seconds)
        else:
            self.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Backend(asyncio.Protocol):
    """The connection to the server that belongs to one of a client."""

    def __init__(self, client: RelayedConnection) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.relay_to_client(data)

    def pause_writing(self) -> None:
        self._client.pause_client()

    def resume_writing(self) -> None:
        self._client.resume_client()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the end is all that counts
        self._client.backend_ended()
