"""``touchpoint serve``: the API, the ingest host, the consumer and the periodic tasks, as one command.

Two processes: the ingest host (`hosts.ingest`) and this one, which owns the event store. With a role, or
with several workers, the command is a supervisor instead (`hosts.roles.supervise`).
"""

import asyncio
import socket
import sys
from pathlib import Path

from hosts import monitoring
from hosts.backup.control import answering, listening
from hosts.backup.write_lock import WriteLock
from hosts.caution import warn, warn_of_nobody
from hosts.children import Child, keep
from hosts.composition.compose import Service, compose, installed
from hosts.composition.load import load_settings
from hosts.composition.wrapping import wrapped
from hosts.ingest.child import IngestChild
from hosts.logs import write_logs
from hosts.monitoring.canary import Canary
from hosts.ownership import consumer_of
from hosts.roles.model import Role
from hosts.roles.site import site
from hosts.roles.tasks import consuming, exporting, forgetting, scheduled, sending
from hosts.serving import address_of, bind, require, serve, settle, stop_on_signals
from hosts.serving import run as run_loop
from hosts.worker.exports import exporter_of
from service_core.commerce.ads.reading import AdReading
from service_core.commerce.providers.polling import ProviderReading
from service_core.gateway.readiness import Readiness
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Server, Settings


def run(
    config: Path, *, api: str | None = None, ingest: str | None = None, server: Server | None = None
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was begun.

    Args:
        config: the settings file.
        api, ingest: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.

    Raises:
        StartupError: the deployment cannot start; the message says what to change.
    """
    write_logs()
    file = config.absolute()
    settings = load_settings(file)
    require(server or settings.http.server)
    with consumer_of(file.parent) as alone:
        if not alone:
            raise StartupError(f"Another process serves {file.parent}. Stop it, or choose another folder.")
        listener = bind(api or settings.http.api)
        http = settings.http.model_copy(update={"api": address_of(listener)})
        settings = settings.model_copy(update={"http": http})
        warn(settings)
        run_loop(_serve(settings, file, listener, ingest, server or settings.http.server))


async def _serve(
    settings: Settings, file: Path, listener: socket.socket, ingest: str | None, server: Server
) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    async with monitoring.shown(settings.monitoring.listen, stop) as shown_at:
        # The ingest host comes up while this process still loads what answers questions.
        starting = asyncio.create_task(IngestChild.start(file, listen=ingest, server=server))
        write_lock, canary = WriteLock(), Canary()
        try:
            service = await asyncio.to_thread(_composed, settings, file.parent, write_lock, canary)
        except BaseException:
            starting.cancel()  # the process ends with this one
            raise
        async with service:
            await warn_of_nobody(service.ports.workspace)
            app = monitoring.counted(site(service), Role.API, service.place)
            child = await starting

            async def again() -> IngestChild:
                return await IngestChild.start(file, listen=child.address, server=server)

            with listening(file.parent) as backups:
                settle()
                _announce(listener, child, shown_at)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(keep(child, again, stop, _ended))
                    _begin(tasks, service, canary, stop)
                    tasks.create_task(answering(backups, write_lock, stop))
                    tasks.create_task(serve(app, listener, server, stop))


def _composed(settings: Settings, folder: Path, write_lock: WriteLock, canary: Canary) -> Service:
    registry = monitoring.watched(wrapped(installed(), write_lock.wrap))
    probes = [canary.probe()] if monitoring.is_on() else []
    return compose(settings, folder, registry=registry, probes=probes)


def _begin(tasks: asyncio.TaskGroup, service: Service, canary: Canary, stop: asyncio.Event) -> None:
    """Everything this process does beside answering."""
    ports, settings = service.ports, service.settings
    exporter = exporter_of(ports, service.registry)
    tasks.create_task(consuming(ports, settings.ingest, stop))
    tasks.create_task(exporting(ports, exporter, stop))
    tasks.create_task(forgetting(ports, settings.ingest, stop))
    rounds = (service.part(AdReading), service.part(ProviderReading))
    for work in (*scheduled(ports, exporter, rounds, stop), *sending(ports, settings.postbacks, stop)):
        tasks.create_task(work)
    tasks.create_task(monitoring.beating("all", service.part(Readiness), stop))
    tasks.create_task(monitoring.sing(canary, ports, settings.monitoring, stop))


def _ended(child: Child) -> None:
    monitoring.ended(child.name, child.process.pid)


def _announce(listener: socket.socket, child: IngestChild, shown_at: str | None) -> None:
    """Say where the service listens; other programs read these lines."""
    sys.stdout.write(f"api http://{address_of(listener)}\ningest http://{child.address}\n")
    if shown_at:
        sys.stdout.write(f"metrics http://{shown_at}\n")
    sys.stdout.flush()
