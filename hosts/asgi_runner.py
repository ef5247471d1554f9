"""Runs an ASGI application in this process until it is told to stop.

Every server drains: it takes no new connection, finishes what has begun for up to 30 seconds, then
returns.
"""

import asyncio
import atexit
import gc
import resource
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar

import uvloop

from hosts.asgi import App
from hosts.request_ids import assign_request_ids
from hosts.servers import BACKLOG
from hosts.servers.connection_limits import LOOPBACK, ConnectionLimits
from hosts.socket_activation import duplicate_inherited_listener
from service_core.kernel.errors import StartupError
from service_core.kernel.listen_address import parse_listen_address
from service_core.kernel.settings import AsgiServer, Settings

_Result = TypeVar("_Result")
MAX_OPEN_FILES: Final = 65_536
_GC_THRESHOLD: Final = 20_000
"""Objects made before the collector looks for cycles: requests under way are some thousands, and make few."""


def bind_listener(address: str, *, reuse_port: bool = False) -> socket.socket:
    """Returns a listening socket; port 0 takes a free one.

    Args:
        address: ``HOST:PORT``, a literal IPv6 host in brackets.
        reuse_port: other sockets of the same user may listen there too; the system spreads connections.

    Raises:
        StartupError: the address is none, or it is taken.
    """
    try:
        host, port = parse_listen_address(address)
    except ValueError as fault:
        raise StartupError(f"{fault}.") from None
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    try:
        where = host.strip("[]"), port
        return socket.create_server(where, family=family, backlog=BACKLOG, reuse_port=reuse_port)
    except OSError as fault:
        reason = str(fault.strerror or fault).partition(" (while ")[0]
        raise StartupError(
            f"Cannot listen on {address}: {reason}. Stop what uses it, or choose another, "
            "by --api and --ingest or in the settings."
        ) from None


def inherit_or_bind_listener(address: str) -> socket.socket:
    """Returns the listening socket that the service manager opened at an address, or a new one.

    Raises:
        StartupError: the address is none, or it is taken.
    """
    return duplicate_inherited_listener(address) or bind_listener(address)


def bind_listeners_with_reuse_port(address: str, socket_count: int) -> list[socket.socket]:
    """Returns listening sockets at one address; connections are spread over them.

    Where the service manager opened a socket there, all of them are that one.

    Raises:
        StartupError: the address is none, or it is taken.
    """
    inherited = duplicate_inherited_listener(address)
    if inherited is not None:
        return [inherited, *(inherited.dup() for _ in range(socket_count - 1))]
    if socket_count == 1:
        return [bind_listener(address)]
    if not address.endswith(":0"):  # a free port is nobody's, and stays so
        bind_listener(address).close()  # sockets of two services must not listen together
    first = bind_listener(address, reuse_port=True)
    return [
        first,
        *(bind_listener(listener_address(first), reuse_port=True) for _ in range(socket_count - 1)),
    ]


def listener_address(listener: socket.socket) -> str:
    """Returns ``HOST:PORT`` of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def require_server_installed(server: AsgiServer) -> None:
    """Refuses a server that is not installed, before anything is opened for it.

    Raises:
        StartupError: it is not.
    """
    if find_spec(server) is None:
        raise StartupError(
            f"The server {server} is not installed. Install it with `pip install touchpoint-analytics[{server}]`, or choose "
            "another."
        )


async def serve_until_shutdown(
    app: App,
    listener: socket.socket,
    server: AsgiServer,
    shutdown: asyncio.Event,
    *,
    cleartext_http2: bool = False,
    limits: ConnectionLimits | None = None,
) -> None:
    """Serves until ``shutdown`` is set, then drains.

    Args:
        app: the application.
        listener: a socket made by `bind_listener`; it is closed at the end.
        server: which server to run.
        shutdown: set it to stop.
        cleartext_http2: whether clients may speak HTTP/2 without TLS.
        limits: on open connections; the default ones if None.

    The server has to be installed (`require_server_installed`).
    """
    raise_open_file_limit()
    with listener:
        module = import_module(f"hosts.servers.{server}")
        await module.serve(
            assign_request_ids(app), listener, shutdown, limits or ConnectionLimits(), http2=cleartext_http2
        )


def build_connection_limits(settings: Settings) -> ConnectionLimits:
    """Returns the limits that the settings name; trusted proxies have none of their own."""
    return ConnectionLimits(
        settings.http.max_connections,
        settings.http.max_connections_per_address,
        (*LOOPBACK, *settings.ingest.trusted_proxies),
    )


def raise_open_file_limit() -> None:
    """Lets this process open as many files as the system allows it: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def freeze_objects_and_raise_gc_threshold() -> None:
    """Excludes all objects loaded so far from garbage collection, and makes later collections rarer."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # without it the exit reports frozen objects as leaks
    gc.set_threshold(_GC_THRESHOLD)


def set_event_on_termination_signals(shutdown: asyncio.Event) -> None:
    """Makes SIGTERM and SIGINT set ``shutdown``."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, shutdown.set)


def run_on_uvloop(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Runs a coroutine on uvloop and returns its result."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
