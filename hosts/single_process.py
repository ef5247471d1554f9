"""Runs ``touchpoint serve`` without roles: the API, the ingest host, the consumer and the periodic tasks.

Three processes: the ingest host (`hosts.ingest`), the consumer (`hosts.consumer`), and this one, which answers
questions and owns the event store. With a role, or with several workers, the command is a supervisor instead
(`hosts.roles.supervise`).
"""

import asyncio
import socket
import sys
from pathlib import Path
from typing import cast

from hosts import monitoring
from hosts.asgi_runner import (
    build_connection_limits,
    freeze_objects_and_raise_gc_threshold,
    inherit_or_bind_listener,
    listener_address,
    require_server_installed,
    run_on_uvloop,
    serve_until_shutdown,
    set_event_on_termination_signals,
)
from hosts.backup.write_lock import WriteLock
from hosts.backup.write_pause import (
    replace_pause_listener_or_none_without_sockets,
    serve_backup_pauses_until_stopped,
)
from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.compose import Service, compose, load_registry_of_deployment
from hosts.composition.load_settings import load_settings_with_environment
from hosts.consumer.consumer_process import run_consumer_process_until_stopped
from hosts.consumer_lock import try_consumer_lock
from hosts.ingest.ingest_process import IngestProcess
from hosts.logs import configure_redacted_json_logging
from hosts.monitoring.canary import Canary
from hosts.remote_event_store.server import EncodedAppends
from hosts.roles.api_app import create_api_host_app
from hosts.roles.models import Role
from hosts.roles.tasks import (
    consume_task,
    event_version_cleanup_task,
    event_webhook_task,
    export_task,
    import_task,
    lake_tasks,
    notification_task,
    plugin_task,
    postback_tasks,
    quarantine_cleanup_task,
    scheduled_tasks,
)
from hosts.serving_addresses import recorded_listen_addresses
from hosts.socket_activation import duplicate_inherited_listener
from hosts.startup_warnings import log_startup_warnings, warn_if_no_workspace
from hosts.subprocesses import restart_with_backoff_until_stopped
from hosts.worker.exports import build_export_worker
from service_core.api.readiness import ReadinessChecker
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.providers.poll import ProviderSync
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import AsgiServer, Settings


def run_serving_process_and_ingest_child(
    config: Path,
    *,
    api_address: str | None = None,
    ingest_address: str | None = None,
    server: AsgiServer | None = None,
    consume_in_this_process: bool = False,
) -> None:
    """Serves until SIGTERM or SIGINT, then finishes the work under way.

    Args:
        config: the settings file.
        api_address, ingest_address: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.
        consume_in_this_process: whether this process is the consumer, too, instead of starting one: less memory, and
            answers wait for its work.

    Raises:
        StartupError: the deployment cannot start; the message says what to change.
    """
    configure_redacted_json_logging()
    file = config.absolute()
    settings = load_settings_with_environment(file)
    for needed in (server or settings.http.server, server or settings.http.effective_ingest_server):
        require_server_installed(needed)
    with try_consumer_lock(file.parent) as alone:
        if not alone:
            raise StartupError(
                f"Another process already serves {file.parent}. Stop it, or choose another folder."
            )
        listener = inherit_or_bind_listener(api_address or settings.http.api)
        ingest = ingest_address or settings.http.ingest
        ingest_listener = duplicate_inherited_listener(ingest)
        http = settings.http.model_copy(update={"api": listener_address(listener), "ingest": ingest})
        settings = settings.model_copy(update={"http": http})
        log_startup_warnings(settings)
        run_on_uvloop(
            _serve_with_ingest_child_until_stopped(
                settings,
                file,
                listener,
                ingest_address,
                server,
                ingest_listener=ingest_listener,
                consume_in_this_process=consume_in_this_process,
            )
        )


async def _serve_with_ingest_child_until_stopped(
    settings: Settings,
    file: Path,
    listener: socket.socket,
    ingest_address: str | None,
    server: AsgiServer | None,
    *,
    ingest_listener: socket.socket | None,
    consume_in_this_process: bool,
) -> None:
    stop = asyncio.Event()
    set_event_on_termination_signals(stop)
    async with monitoring.serve_metrics_if_address_given(settings.monitoring.listen, stop) as metrics_address:
        # The ingest host comes up while this process still loads what answers questions.
        starting = asyncio.create_task(
            IngestProcess.start_and_wait_until_listening(
                file, listen=ingest_address, server=server, listener=ingest_listener
            )
        )
        write_lock, canary = WriteLock(), Canary()
        try:
            if settings.http.ingest.endswith(":0"):  # answers name the port, which the child takes
                ingest = (await starting).address
                http = settings.http.model_copy(update={"ingest": ingest})
                settings = settings.model_copy(update={"http": http})
            service = await asyncio.to_thread(_compose_service, settings, file.parent, write_lock, canary)
        except BaseException:
            starting.cancel()  # the process ends with this one
            raise
        async with service:
            await warn_if_no_workspace(service.ports.workspace.credentials)
            app = monitoring.instrument_app_if_enabled(
                create_api_host_app(service), Role.API, service.route_template
            )
            child = await starting

            async def restart_ingest_host() -> IngestProcess:
                return await IngestProcess.start_and_wait_until_listening(
                    file, listen=child.address, server=server, listener=ingest_listener
                )

            addresses = {"api": listener_address(listener), "ingest": child.address}
            with (
                replace_pause_listener_or_none_without_sockets(file.parent) as backups,
                recorded_listen_addresses(file.parent, **addresses),
            ):
                freeze_objects_and_raise_gc_threshold()
                _print_listen_addresses(listener, child, metrics_address)
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(
                        restart_with_backoff_until_stopped(
                            child, restart_ingest_host, stop, monitoring.count_process_end_if_enabled
                        )
                    )
                    tasks.create_task(
                        _consume_until_stopped(service, file, stop, in_this_process=consume_in_this_process)
                    )
                    _start_background_tasks(tasks, service, canary, stop)
                    tasks.create_task(serve_backup_pauses_until_stopped(backups, write_lock, stop))
                    tasks.create_task(
                        serve_until_shutdown(
                            app,
                            listener,
                            server or settings.http.server,
                            stop,
                            cleartext_http2=settings.http.cleartext_http2,
                            limits=build_connection_limits(settings),
                        )
                    )


async def _consume_until_stopped(
    service: Service, file: Path, stop: asyncio.Event, *, in_this_process: bool
) -> None:
    """Moves events until ``stop`` is set, in a process of its own if the event store and the deployer allow it."""
    store = None if in_this_process else _event_store_for_encoded_batches(service)
    if store is None:
        await consume_task(service.ports, service.settings, stop)
    else:
        await run_consumer_process_until_stopped(file, store, stop)


def _event_store_for_encoded_batches(service: Service) -> EncodedAppends | None:
    """Returns the open event store; None if it takes no batches that another process has encoded."""
    adapter = service.ports.registry.adapter_for_url_scheme("events", service.settings.storage.events)
    return None if adapter.encode_batch is None else cast(EncodedAppends, service.ports.events)


def _compose_service(settings: Settings, folder: Path, write_lock: WriteLock, canary: Canary) -> Service:
    registry = monitoring.instrument_registry_if_enabled(
        wrap_adapters(load_registry_of_deployment(settings, folder), write_lock.wrap_if_event_store)
    )
    canary_probes = [canary.arrival_probe()] if monitoring.is_enabled() else []
    probes = [*canary_probes, *monitoring.processes_probe_if_enabled()]
    return compose(settings, folder, registry=registry, probes=probes)


def _start_background_tasks(
    tasks: asyncio.TaskGroup, service: Service, canary: Canary, stop: asyncio.Event
) -> None:
    """Starts the tasks of this process besides the API."""
    ports, settings = service.ports, service.settings
    exporter = build_export_worker(ports)
    tasks.create_task(export_task(ports, exporter, stop))
    tasks.create_task(import_task(ports, stop))
    tasks.create_task(quarantine_cleanup_task(ports, settings.ingest, stop))
    tasks.create_task(event_version_cleanup_task(ports, settings.history.retention_days, stop))
    syncs = (service.component(AdSpendSync), service.component(ProviderSync))
    for work in (
        *scheduled_tasks(ports, exporter, syncs, stop),
        notification_task(ports, settings, stop),
        plugin_task(ports, settings, stop),
        event_webhook_task(ports, settings, stop),
        *postback_tasks(ports, settings.postbacks, stop),
        *lake_tasks(ports, settings.lake, stop),
    ):
        tasks.create_task(work)
    tasks.create_task(monitoring.send_heartbeats_if_enabled("all", service.component(ReadinessChecker), stop))
    tasks.create_task(monitoring.run_canary_if_enabled(canary, ports, settings.monitoring, stop))


def _print_listen_addresses(
    listener: socket.socket, child: IngestProcess, metrics_address: str | None
) -> None:
    """Prints the addresses of the service; other programs read these lines."""
    sys.stdout.write(f"api http://{listener_address(listener)}\ningest http://{child.address}\n")
    if metrics_address:
        sys.stdout.write(f"metrics http://{metrics_address}\n")
    sys.stdout.flush()
