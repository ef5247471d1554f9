"""One process of a role: it opens what the role needs, says that it is ready, works until it is told to stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hosts import monitoring
from hosts.backup.control import answering, listening
from hosts.backup.write_lock import WriteLock
from hosts.caution import warn_of_nobody
from hosts.children import say_ready, stop_with_parent
from hosts.composition.ads import ad_reading_of
from hosts.composition.compose import compose, installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.composition.revenue import provider_reading_of
from hosts.composition.wrapping import wrapped
from hosts.monitoring.canary import Canary
from hosts.roles.model import Role
from hosts.roles.tasks import Work, consuming, exporting, forgetting, scheduled, sending
from hosts.serving import address_of, bind, serve, settle, stop_on_signals
from hosts.worker.exports import exporter_of
from service_core.gateway.readiness import Probe, Readiness, queue_probe, store_probe
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import Server


@dataclass(frozen=True, slots=True)
class Given:
    """What a process is told when it is started.

    Attributes:
        config: absolute path of the settings file.
        listener: a listening socket, for the role that serves.
        server: instead of the one in the settings.
        processes: how many of its role answer requests on this server.
    """

    config: Path
    listener: socket.socket | None = None
    server: Server | None = None
    processes: int = 1


async def run(role: Role, given: Given, *, with_parent: bool) -> None:
    """Work until SIGTERM, SIGINT or the end of the parent, then finish what was begun.

    Raises:
        StartupError: the settings or an adapter do not fit.
    """
    stop = asyncio.Event()
    stop_on_signals(stop)
    if with_parent:
        await stop_with_parent(stop)
    await _ROLES[role](given, stop)


async def _api(given: Given, stop: asyncio.Event) -> None:
    from hosts.roles.site import site  # noqa: PLC0415 - the other roles load no web framework

    settings = load_settings(given.config)
    listener = given.listener or bind(settings.http.api)
    registry = monitoring.watched(installed())
    service = await asyncio.to_thread(
        compose, settings, given.config.parent, registry=registry, processes=given.processes
    )
    async with service, asyncio.TaskGroup() as tasks:
        await warn_of_nobody(service.ports.workspace)
        app = monitoring.counted(site(service), "api", service.place)
        tasks.create_task(exporting(service.ports, exporter_of(service.ports, registry), stop))
        tasks.create_task(monitoring.beating(Role.API, service.part(Readiness), stop))
        settle()
        say_ready(address_of(listener))
        await serve(app, listener, given.server or settings.http.server, stop)


async def _consumer(given: Given, stop: asyncio.Event) -> None:
    settings, folder = load_settings(given.config), given.config.parent
    write_lock = WriteLock()
    registry = monitoring.watched(wrapped(installed(), write_lock.wrap))
    ports = Ports(settings, folder, registry, system_clock)
    opened = running([ports.workspace, ports.queue, ports.events, ports.geo, ports.devices, ports.domains])
    async with opened:
        with listening(folder) as backups:
            await _work(
                Role.CONSUMER,
                ports,
                stop,
                consuming(ports, settings.ingest, stop),
                answering(backups, write_lock, stop),
            )


async def _scheduler(given: Given, stop: asyncio.Event) -> None:
    settings = load_settings(given.config)
    registry = monitoring.watched(installed())
    ports = Ports(settings, given.config.parent, registry, system_clock)
    rounds = (ad_reading_of(ports, registry, settings.ads), provider_reading_of(ports, settings))
    opened = running(
        [ports.workspace, ports.queue, ports.events, ports.jobs, ports.sink, ports.mail, ports.vault]
    )
    async with opened:
        canary = Canary()
        await _work(
            Role.SCHEDULER,
            ports,
            stop,
            *scheduled(ports, exporter_of(ports, registry), rounds, stop),
            forgetting(ports, settings.ingest, stop),
            *sending(ports, settings.postbacks, stop),
            monitoring.sing(canary, ports, settings.monitoring, stop),
            probes=[canary.probe()],
        )


async def _work(
    role: Role, ports: Ports, stop: asyncio.Event, *work: Work, probes: Sequence[Probe] = ()
) -> None:
    """Do the work of a role and watch what it stands on, until all of it has ended."""
    store, queue = ports.workspace, ports.queue
    standing = [store_probe(ports.events, store), queue_probe(queue, store, ports.clock), *probes]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(monitoring.beating(role, Readiness(standing, ports.clock), stop))
        for each in work:
            tasks.create_task(each)
        say_ready()


_ROLES: Final[Mapping[Role, Callable[[Given, asyncio.Event], Awaitable[None]]]] = {
    Role.API: _api,
    Role.CONSUMER: _consumer,
    Role.SCHEDULER: _scheduler,
}
"""Roles that are run here; `hosts.ingest` and `hosts.worker.apart` bring the others, and load less."""
