"""The ingest process: opens the directory and the queue, and nothing of the questions' side."""

import asyncio
import gc
import sys
from pathlib import Path
from typing import Final

from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.guard import App
from hosts.ingest.address import ClientAddress
from hosts.ingest.app import Door, ingest_app
from hosts.ingest.keys import WriteKeys
from hosts.serving import address_of, bind, serve, stop_on_signals
from service_core.access.authenticate import Authenticator
from service_core.extension import load
from service_core.intake.track import RateLimit
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Server, Settings

READY: Final = "ready"
"""First word of the line that tells a parent where the process listens: ``ready HOST:PORT``."""

_SWITCH_SECONDS: Final = 0.0005
"""How long the event loop may keep the interpreter while the committing thread wants it back.

With the default of 5 ms a finished commit would wait that long under load before it can say so.
"""


async def run(config: Path, listen: str | None, server: Server | None, *, with_parent: bool) -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent; then finish what was begun.

    Args:
        config: absolute path of the settings file; relative paths in it start at its folder.
        listen: ``HOST:PORT`` instead of the one in the settings; port 0 takes a free one.
        server: instead of the one in the settings.
        with_parent: standard input is a pipe of the parent; its end ends this process too.

    Raises:
        StartupError: the settings, an adapter or the address do not fit.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = load_settings(config)
    ports = Ports(settings, config.parent, load(), system_clock)
    shutdown = asyncio.Event()
    listener = bind(listen or settings.http.ingest)
    async with running([ports.workspace, ports.queue]):
        stop_on_signals(shutdown)
        if with_parent:
            await _stop_with_parent(shutdown)
        gc.collect()
        gc.freeze()  # what is loaded by now stays: a full collection would stop every request to find that out
        sys.stdout.write(f"{READY} {address_of(listener)}\n")
        sys.stdout.flush()
        await serve(application(settings, ports), listener, server or settings.http.server, shutdown)


def application(settings: Settings, ports: Ports) -> App:
    """The ingest host over the ports of a deployment."""
    authenticator = Authenticator(ports.workspace, ports.clock)
    return ingest_app(
        Door(
            queue=ports.queue,
            keys=WriteKeys(authenticator, ports.workspace),
            spend=RateLimit().spend,
            clock=ports.clock,
            addresses=ClientAddress(settings.ingest.trusted_proxies),
        )
    )


async def _stop_with_parent(shutdown: asyncio.Event) -> None:
    """A parent that dies, by whatever signal, closes its end of the pipe."""

    class EndOfParent(asyncio.Protocol):
        def connection_lost(self, _exc: Exception | None) -> None:
            shutdown.set()

    await asyncio.get_running_loop().connect_read_pipe(EndOfParent, sys.stdin)
