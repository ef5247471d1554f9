"""The ingest process: opens the directory and the queue, and nothing of the questions' side."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Final

import orjson

from hosts import monitoring
from hosts.children import say_ready, stop_with_parent
from hosts.client_address import ClientAddress
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.composition.revenue import keeping_of
from hosts.edge.app import LinkDoor, edge_app
from hosts.edge.run import link_door
from hosts.guard import App
from hosts.ingest.app import Door, ingest_app
from hosts.ingest.companions import PLACES, Companions, companion_app
from hosts.ingest.containers import Containers
from hosts.ingest.faults import QueueFaults
from hosts.ingest.keys import WriteKeys
from hosts.ingest.webhooks import PLACE, is_webhook, webhook_app
from hosts.serving import address_of, bind, serve, settle, stop_on_signals
from service_core.access.authenticate import Authenticator
from service_core.access.workspaces import Workspaces
from service_core.commerce.providers.receive import Webhooks
from service_core.extension.registry import load
from service_core.gateway.readiness import Readiness, cache_probe, queue_probe
from service_core.intake.batch import Batches
from service_core.intake.track import RateLimit
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Server, Settings

_SWITCH_SECONDS: Final = 0.0005
"""How long the event loop may keep the interpreter while the committing thread wants it back.

With the default of 5 ms a finished commit would wait that long under load before it can say so.
"""


async def run(
    config: Path, door: socket.socket | str | None, server: Server | None, *, with_parent: bool
) -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent; then finish what was begun.

    Args:
        config: absolute path of the settings file; relative paths in it start at its folder.
        door: a listening socket, or ``HOST:PORT`` instead of the one in the settings; port 0 takes a free one.
        server: instead of the one in the settings.
        with_parent: standard input is a pipe of the parent; its end ends this process too.

    Raises:
        StartupError: the settings, an adapter or the address do not fit.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = load_settings(config)
    ports = Ports(settings, config.parent, monitoring.watched(load(catalog=False)), system_clock)
    shutdown = asyncio.Event()
    listener = door if isinstance(door, socket.socket) else bind(door or settings.http.ingest)
    own = _own_door(settings)
    async with (
        running([ports.workspace, ports.queue]),
        link_door(settings, ports, _addresses(settings).of) as links,
    ):
        stop_on_signals(shutdown)
        if with_parent:
            await stop_with_parent(shutdown)
        settle()
        say_ready(address_of(listener))
        app = monitoring.counted(application(settings, ports, links), "ingest", _place)
        chosen = server or settings.http.server
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(monitoring.beating("ingest", _readiness(ports), shutdown))
            tasks.create_task(serve(app, listener, chosen, shutdown))
            if own is not None and links is not None:
                tasks.create_task(serve(edge_app(links), own, chosen, shutdown))


def _place(_method: str, path: str) -> str | None:
    if is_webhook(path):
        return PLACE
    return path if path == "/track" or path in PLACES else None


def _readiness(ports: Ports) -> Readiness:
    probes = [queue_probe(ports.queue, ports.workspace, ports.clock), cache_probe(ports.workspace)]
    return Readiness(probes, ports.clock)


def _own_door(settings: Settings) -> socket.socket | None:
    """Where links are followed besides, if anywhere; every ingest process listens there."""
    return bind(settings.http.links, together=True) if settings.http.links else None


def _addresses(settings: Settings) -> ClientAddress:
    return ClientAddress(settings.ingest.trusted_proxies)


def application(settings: Settings, ports: Ports, links: LinkDoor | None = None) -> App:
    """The ingest host over the ports of a deployment; it follows links, too, where they name their domain."""
    authenticator = Authenticator(ports.workspace, ports.clock)
    workspaces = Workspaces(ports.workspace)
    addresses, queue_faults = _addresses(settings), QueueFaults()
    batches = Batches(
        workspaces=workspaces,
        queue=ports.queue,
        spend=RateLimit().spend,
        clock=ports.clock,
        encode=orjson.dumps,
        tell=queue_faults.tell,
    )
    others = companion_app(Companions(batches, Containers(ports.workspace), addresses))
    others = webhook_app(_webhooks(settings, ports, workspaces), others)
    return ingest_app(
        Door(
            queue=ports.queue,
            keys=WriteKeys(authenticator, ports.workspace),
            spend=RateLimit().spend,
            clock=ports.clock,
            addresses=addresses,
            queue_faults=queue_faults,
        ),
        edge_app(links, others) if links else others,
    )


def _webhooks(settings: Settings, ports: Ports, workspaces: Workspaces) -> Webhooks:
    return Webhooks(
        providers=ports.revenue_providers,
        workspaces=workspaces,
        connections=ports.workspace,
        secrets=ports.connection_secrets,
        keeping=keeping_of(ports, settings),
        queue=ports.queue,
        clock=ports.clock,
    )
