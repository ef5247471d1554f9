"""Uvicorn: the fastest and strictest parser; HTTP/1.1, behind a proxy."""

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hosts.asgi import App
from hosts.servers import BACKLOG, DRAIN_TIMEOUT_SECONDS, IDLE_TIMEOUT_SECONDS, LINGER_SECONDS


class _ConnectionWithHeaderTimeout(HttpToolsProtocol):
    """A connection that times out a slow header, and answers a request that arrives during shutdown."""

    def __init__(self, ended: asyncio.Event, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.scope = cast(Any, {})
        self._ended = ended
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its parent
        super().connection_made(transport)
        self._late = self.loop.call_later(IDLE_TIMEOUT_SECONDS, self._close_if_idle)
        if self._ended.is_set():
            self.shutdown()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        scope: Mapping[str, Any] = self.scope
        if "method" in scope:  # the header is there as a whole
            self._cancel_header_timeout()
        elif self._late is None:
            self._late = self.loop.call_later(IDLE_TIMEOUT_SECONDS, self._close_if_idle)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._ended.is_set():
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Closes the connection, after a request that still arrives is answered."""
        if self._is_idle():
            self.loop.call_later(LINGER_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_header_timeout()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _cancel_header_timeout(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_if_idle(self) -> None:
        self._late = None
        if self._is_idle():
            self.transport.close()


class _ServerWithoutSignals(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the process, which stops more than this server."""
        yield


async def serve(app: App, listener: socket.socket, shutdown: asyncio.Event) -> None:
    """Serves until ``shutdown`` is set, then drains."""
    config = uvicorn.Config(
        cast(Any, app),
        loop="none",
        lifespan="off",
        http=cast(Any, partial(_ConnectionWithHeaderTimeout, shutdown)),
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_TIMEOUT_SECONDS,
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
