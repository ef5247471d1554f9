"""hypercorn: the default; HTTP/1.1 and HTTP/2."""

import asyncio
import logging
import socket
from typing import Any, Final, cast

from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config

from hosts.guard import App
from hosts.servers import GRACE_SECONDS, IDLE_SECONDS

_REQUESTS_PER_CONNECTION: Final = 1_000_000
_log: Final = logging.getLogger("touchpoint.server")


async def serve(app: App, listener: socket.socket, shutdown: asyncio.Event) -> None:
    """Serve until ``shutdown`` is set, then drain."""
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.graceful_timeout = config.shutdown_timeout = GRACE_SECONDS
    config.keep_alive_timeout = IDLE_SECONDS
    config.keep_alive_max_requests = _REQUESTS_PER_CONNECTION
    config.include_server_header = False
    config.errorlog = _log
    config.loglevel = "WARNING"
    await hypercorn_serve(cast(Any, app), config, shutdown_trigger=shutdown.wait, mode="asgi")
