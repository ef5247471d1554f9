"""uvicorn: the fastest parser with the strictest rules; HTTP/1.1, behind a proxy."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import uvicorn

from hosts.guard import App
from hosts.servers import BACKLOG, GRACE_SECONDS, IDLE_SECONDS


class _Embedded(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process: it stops more than this server."""
        yield


async def serve(app: App, listener: socket.socket, shutdown: asyncio.Event) -> None:
    """Serve until ``shutdown`` is set, then drain."""
    config = uvicorn.Config(
        cast(Any, app),
        loop="none",
        http="httptools",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Embedded(config)

    async def stop() -> None:
        await shutdown.wait()
        server.should_exit = True

    stopper = asyncio.create_task(stop())
    try:
        await server.serve(sockets=[listener])
    finally:
        stopper.cancel()
