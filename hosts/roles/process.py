"""Runs one process of a role: opens its ports, prints the ready line, works until it is told to stop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hosts import monitoring
from hosts.asgi_runner import (
    bind_listener,
    build_connection_limits,
    freeze_objects_and_raise_gc_threshold,
    listener_address,
    serve_until_shutdown,
    set_event_on_termination_signals,
)
from hosts.backup.write_lock import WriteLock
from hosts.backup.write_pause import (
    replace_pause_listener_or_none_without_sockets,
    serve_backup_pauses_until_stopped,
)
from hosts.composition.adapter_wrappers import wrap_adapters
from hosts.composition.compose import compose, load_registry_of_deployment
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.composition.providers import build_ad_sync, build_pollable_provider_sync
from hosts.disk_probe import build_disk_probes
from hosts.monitoring.canary import Canary
from hosts.roles.models import Role
from hosts.roles.tasks import (
    Work,
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
from hosts.startup_warnings import warn_if_no_workspace
from hosts.subprocesses import print_ready_line, stop_when_parent_ends
from hosts.worker.exports import build_export_worker
from service_core.api.readiness import (
    Probe,
    ReadinessChecker,
    build_queue_age_and_ledger_probe,
    build_store_probe_with_newest_event,
    build_stored_version_probe,
)
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import AsgiServer


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """The options of a process.

    Attributes:
        config: absolute path of the settings file.
        listener: a listening socket, for the role that serves.
        server: instead of the one in the settings.
        processes: how many of its role answer requests on this server.
    """

    config: Path
    listener: socket.socket | None = None
    server: AsgiServer | None = None
    processes: int = 1


async def run_role_until_stopped(role: Role, options: ProcessOptions, *, stop_with_parent: bool) -> None:
    """Runs a role until SIGTERM, SIGINT or the end of the parent, then finishes the work under way.

    Raises:
        StartupError: the settings or an adapter do not fit.
    """
    stop = asyncio.Event()
    set_event_on_termination_signals(stop)
    if stop_with_parent:
        await stop_when_parent_ends(stop)
    await _ROLE_FUNCTIONS[role](options, stop)


async def _serve_api_and_run_exports(options: ProcessOptions, stop: asyncio.Event) -> None:
    from hosts.roles.api_app import create_api_host_app  # noqa: PLC0415 - the other roles load no web framework

    settings = load_settings_with_environment(options.config)
    listener = options.listener or bind_listener(settings.http.api)
    registry = monitoring.instrument_registry_if_enabled(
        load_registry_of_deployment(settings, options.config.parent)
    )
    service = await asyncio.to_thread(
        compose,
        settings,
        options.config.parent,
        registry=registry,
        probes=monitoring.processes_probe_if_enabled(),
        processes=options.processes,
    )
    async with service, asyncio.TaskGroup() as tasks:
        await warn_if_no_workspace(service.ports.workspace.credentials)
        app = monitoring.instrument_app_if_enabled(
            create_api_host_app(service), "api", service.route_template
        )
        tasks.create_task(export_task(service.ports, build_export_worker(service.ports), stop))
        tasks.create_task(import_task(service.ports, stop))
        tasks.create_task(
            monitoring.send_heartbeats_if_enabled(Role.API, service.component(ReadinessChecker), stop)
        )
        freeze_objects_and_raise_gc_threshold()
        print_ready_line(listener_address(listener))
        await serve_until_shutdown(
            app,
            listener,
            options.server or settings.http.server,
            stop,
            cleartext_http2=settings.http.cleartext_http2,
            limits=build_connection_limits(settings),
        )


async def _run_consumer_and_serve_backup_pauses(options: ProcessOptions, stop: asyncio.Event) -> None:
    settings, folder = load_settings_with_environment(options.config), options.config.parent
    write_lock = WriteLock()
    registry = monitoring.instrument_registry_if_enabled(
        wrap_adapters(load_registry_of_deployment(settings, folder), write_lock.wrap_if_event_store)
    )
    ports = Ports(settings, folder, registry, system_clock)
    async with start_adapters(ports.adapters_opened_by(Role.CONSUMER)):
        with replace_pause_listener_or_none_without_sockets(folder) as backups:
            await _run_tasks_with_heartbeat(
                Role.CONSUMER,
                ports,
                stop,
                consume_task(ports, settings, stop),
                serve_backup_pauses_until_stopped(backups, write_lock, stop),
            )


async def _run_scheduled_tasks(options: ProcessOptions, stop: asyncio.Event) -> None:
    settings = load_settings_with_environment(options.config)
    registry = monitoring.instrument_registry_if_enabled(
        load_registry_of_deployment(settings, options.config.parent)
    )
    ports = Ports(settings, options.config.parent, registry, system_clock)
    syncs = (build_ad_sync(ports, settings), build_pollable_provider_sync(ports, settings))
    async with start_adapters(ports.adapters_opened_by(Role.SCHEDULER)):
        canary = Canary()
        await _run_tasks_with_heartbeat(
            Role.SCHEDULER,
            ports,
            stop,
            *scheduled_tasks(ports, build_export_worker(ports), syncs, stop),
            quarantine_cleanup_task(ports, settings.ingest, stop),
            event_version_cleanup_task(ports, settings.history.retention_days, stop),
            notification_task(ports, settings, stop),
            plugin_task(ports, settings, stop),
            event_webhook_task(ports, settings, stop),
            *postback_tasks(ports, settings.postbacks, stop),
            *lake_tasks(ports, settings.lake, stop),
            monitoring.run_canary_if_enabled(canary, ports, settings.monitoring, stop),
            extra_probes=[canary.arrival_probe()],
        )


async def _run_tasks_with_heartbeat(
    role: Role, ports: Ports, stop: asyncio.Event, *role_tasks: Work, extra_probes: Sequence[Probe] = ()
) -> None:
    """Runs the tasks of a role and its heartbeat until all have ended."""
    store, queue = ports.workspace, ports.queue
    all_probes = [
        build_store_probe_with_newest_event(ports.events, store.credentials),
        build_queue_age_and_ledger_probe(queue, store.credentials, ports.clock),
        build_stored_version_probe((ports.events, store, queue)),
        *build_disk_probes(ports.database_folders),
        *extra_probes,
    ]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(
            monitoring.send_heartbeats_if_enabled(role, ReadinessChecker(all_probes, ports.clock), stop)
        )
        for task in role_tasks:
            tasks.create_task(task)
        print_ready_line()


_ROLE_FUNCTIONS: Final[Mapping[Role, Callable[[ProcessOptions, asyncio.Event], Awaitable[None]]]] = {
    Role.API: _serve_api_and_run_exports,
    Role.CONSUMER: _run_consumer_and_serve_backup_pauses,
    Role.SCHEDULER: _run_scheduled_tasks,
}
"""Roles that are run here; `hosts.ingest` and `hosts.worker.export_worker` bring the others, and load less."""
