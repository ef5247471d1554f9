"""Runs ``touchpoint serve`` without roles: the API, the ingest host, the consumer and the periodic tasks.

Two processes: the ingest host (`hosts.ingest`) and this one, which owns the event store. With a role, or
with several workers, the command is a supervisor instead (`hosts.roles.supervise`).
"""

import asyncio
import socket
import sys
from pathlib import Path

from hosts import monitoring
from hosts.asgi_runner import (
    bind_listener,
    freeze_loaded_objects,
    listener_address,
    require_server_installed,
    run_event_loop,
    serve,
    stop_on_signals,
)
from hosts.backup.write_lock import WriteLock
from hosts.backup.write_pause import open_pause_listener, serve_pause_requests
from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.compose import Service, compose, load_installed_registry
from hosts.composition.load_settings import load_settings
from hosts.consumer_lock import try_consumer_lock
from hosts.ingest.ingest_process import IngestProcess
from hosts.logs import configure_logging
from hosts.monitoring.canary import Canary
from hosts.roles.api_app import create_api_host_app
from hosts.roles.models import Role
from hosts.roles.tasks import (
    consume_task,
    export_task,
    postback_tasks,
    quarantine_cleanup_task,
    scheduled_tasks,
)
from hosts.startup_warnings import log_startup_warnings, warn_if_no_workspace
from hosts.subprocesses import keep_running
from hosts.worker.exports import build_exporter
from service_core.api.readiness import ReadinessChecker
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.providers.poll import ProviderSync
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import AsgiServer, Settings


def run_single_process(
    config: Path, *, api: str | None = None, ingest: str | None = None, server: AsgiServer | None = None
) -> None:
    """Serves until SIGTERM or SIGINT, then finishes the work under way.

    Args:
        config: the settings file.
        api, ingest: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.

    Raises:
        StartupError: the deployment cannot start; the message says what to change.
    """
    configure_logging()
    file = config.absolute()
    settings = load_settings(file)
    require_server_installed(server or settings.http.server)
    with try_consumer_lock(file.parent) as alone:
        if not alone:
            raise StartupError(
                f"Another process already serves {file.parent}. Stop it, or choose another folder."
            )
        listener = bind_listener(api or settings.http.api)
        http = settings.http.model_copy(update={"api": listener_address(listener)})
        settings = settings.model_copy(update={"http": http})
        log_startup_warnings(settings)
        run_event_loop(_serve(settings, file, listener, ingest, server or settings.http.server))


async def _serve(
    settings: Settings, file: Path, listener: socket.socket, ingest: str | None, server: AsgiServer
) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    async with monitoring.serve_metrics(settings.monitoring.listen, stop) as metrics_address:
        # The ingest host comes up while this process still loads what answers questions.
        starting = asyncio.create_task(IngestProcess.start(file, listen=ingest, server=server))
        write_lock, canary = WriteLock(), Canary()
        try:
            service = await asyncio.to_thread(_compose_service, settings, file.parent, write_lock, canary)
        except BaseException:
            starting.cancel()  # the process ends with this one
            raise
        async with service:
            await warn_if_no_workspace(service.ports.workspace.credentials)
            app = monitoring.instrument_app(create_api_host_app(service), Role.API, service.route_template)
            child = await starting

            async def restart_ingest_host() -> IngestProcess:
                return await IngestProcess.start(file, listen=child.address, server=server)

            with open_pause_listener(file.parent) as backups:
                freeze_loaded_objects()
                _print_addresses(listener, child, metrics_address)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(
                        keep_running(child, restart_ingest_host, stop, monitoring.record_process_end)
                    )
                    _start_background_tasks(tasks, service, canary, stop)
                    tasks.create_task(serve_pause_requests(backups, write_lock, stop))
                    tasks.create_task(serve(app, listener, server, stop))


def _compose_service(settings: Settings, folder: Path, write_lock: WriteLock, canary: Canary) -> Service:
    registry = monitoring.instrument_registry(wrap_adapters(load_installed_registry(), write_lock.wrap))
    probes = [canary.probe()] if monitoring.is_enabled() else []
    return compose(settings, folder, registry=registry, probes=probes)


def _start_background_tasks(
    tasks: asyncio.TaskGroup, service: Service, canary: Canary, stop: asyncio.Event
) -> None:
    """Starts the tasks of this process besides the API."""
    ports, settings = service.ports, service.settings
    exporter = build_exporter(ports)
    tasks.create_task(consume_task(ports, settings.ingest, stop))
    tasks.create_task(export_task(ports, exporter, stop))
    tasks.create_task(quarantine_cleanup_task(ports, settings.ingest, stop))
    syncs = (service.component(AdSpendSync), service.component(ProviderSync))
    for work in (
        *scheduled_tasks(ports, exporter, syncs, stop),
        *postback_tasks(ports, settings.postbacks, stop),
    ):
        tasks.create_task(work)
    tasks.create_task(monitoring.send_heartbeats("all", service.component(ReadinessChecker), stop))
    tasks.create_task(monitoring.run_canary(canary, ports, settings.monitoring, stop))


def _print_addresses(listener: socket.socket, child: IngestProcess, shown_at: str | None) -> None:
    """Prints the addresses of the service; other programs read these lines."""
    sys.stdout.write(f"api http://{listener_address(listener)}\ningest http://{child.address}\n")
    if shown_at:
        sys.stdout.write(f"metrics http://{shown_at}\n")
    sys.stdout.flush()
