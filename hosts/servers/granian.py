"""Granian: a server in Rust, behind a relay that checks requests. Its embedded form runs in this event loop."""

import asyncio
import socket
from typing import Any, Final, cast

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from hosts.asgi import App, Message, Receive, Scope, Send
from hosts.servers import BACKLOG, DRAIN_TIMEOUT_SECONDS
from hosts.servers.checking_relay import CheckingRelay
from hosts.servers.connection_limits import ConnectionLimits

_NEVER_MS: Final = 2**31
"""The relay has its own limits on time."""


class _ServerOnSocket(Server):
    """A server on an open socket; granian itself opens one by address."""

    def __init__(self, app: App, listener: socket.socket, max_connections: int, *, http2: bool) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.auto if http2 else HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG,
            backpressure=max_connections,  # left to itself granian takes 128, too few with slow clients
            http1_settings=HTTP1Settings(header_read_timeout=_NEVER_MS),
            log_enabled=False,
        )
        self._listener = listener

    def _init_shared_socket(self) -> None:
        holder = cast(Any, SocketHolder)(self._listener.detach(), False, BACKLOG)
        vars(self).update(_ssp=None, _shd=holder, _sfd=holder.get_fd())


async def serve(
    app: App,
    listener: socket.socket,
    shutdown: asyncio.Event,
    limits: ConnectionLimits,
    *,
    http2: bool = False,
) -> None:
    """Serves until ``shutdown`` is set, then drains. Connections above a limit are answered 503."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as inner:
        relay = CheckingRelay(listener, inner.getsockname()[:2], limits, http2=http2)
        served = _release_request_after_response(skip_absent_bodies(relay.serve_relayed(app)))
        server = _ServerOnSocket(served, inner, limits.total, http2=http2)
        serving = asyncio.create_task(server.serve())
        relaying = asyncio.create_task(relay.relay_until(shutdown))
        await asyncio.wait({serving, relaying}, return_when=asyncio.FIRST_COMPLETED)
        cast(Any, server).stop()
        async with asyncio.timeout(DRAIN_TIMEOUT_SECONDS):
            await serving
        await relaying


def _release_request_after_response(app: App) -> App:
    """Returns ``app`` with ``receive`` and ``send`` of a request released once it has been answered.

    Tracebacks of a body that timed out refer to them, and granian leaves a connection open, whatever the
    response says, while anything refers to its request.
    """

    async def run_and_release_request(scope: Scope, receive: Receive, send: Send) -> None:
        receives, sends = [receive], [send]
        del receive, send

        async def receive_if_unanswered() -> Message:
            return await receives[0]()

        async def send_if_unanswered(message: Message) -> None:
            await sends[0](message)

        try:
            await app(scope, receive_if_unanswered, send_if_unanswered)
        finally:
            receives.clear()
            sends.clear()

    return run_and_release_request


def skip_absent_bodies(app: App) -> App:
    """Returns ``app`` with the empty body of a request whose header names none, without asking granian for it.

    On a busy machine granian says late that there is none, and the request would be answered as one with a slow body.
    """

    async def run_without_absent_body(scope: Scope, receive: Receive, send: Send) -> None:
        is_absent = not _declares_body(scope)

        async def receive_unless_absent() -> Message:
            nonlocal is_absent
            if not is_absent:
                return await receive()
            is_absent = False
            return {"type": "http.request", "body": b"", "more_body": False}

        await app(scope, receive_unless_absent if is_absent else receive, send)

    return run_without_absent_body


def _declares_body(scope: Scope) -> bool:
    """Returns whether a request may have a body; one of HTTP/2 may without a header that says so."""
    return scope["http_version"] == "2" or any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
