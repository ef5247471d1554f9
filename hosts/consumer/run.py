"""Runs the consumer process; it opens the queue and the workspace store, and reaches the event store by a socket."""

import asyncio
import socket
from pathlib import Path

from hosts import monitoring
from hosts.asgi_runner import freeze_objects_and_raise_gc_threshold, set_event_on_termination_signals
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.plugin_selection import select_plugins
from hosts.composition.ports import Ports, start_adapters
from hosts.composition.roles import Role
from hosts.remote_event_store.client import EncodeBatch, RemoteEventStore
from hosts.subprocesses import print_ready_line, stop_when_parent_ends
from hosts.worker.consumer import build_ingest_pipeline, consume_queue_until_stopped
from service_core.api.readiness import (
    ReadinessChecker,
    build_change_version_probe,
    build_queue_answers_probe,
    build_stored_version_probe,
)
from service_core.extensions.registry import Registry, collect_plugins_into_registry
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


async def run_consumer_until_stopped(
    config: Path, connection: socket.socket, *, stop_with_parent: bool
) -> None:
    """Moves events until SIGTERM, SIGINT or the end of the parent; the batch under way is finished.

    Args:
        config: absolute path of the settings file.
        connection: connected to the process that owns the event store; its end ends this process too.
        stop_with_parent: standard input is a pipe of the parent; its end ends this process too.

    Raises:
        StartupError: the settings or an adapter do not fit.
    """
    settings = load_settings_with_environment(config)
    selection = select_plugins(settings.plugins, config.parent)
    registry = monitoring.instrument_registry_if_enabled(
        collect_plugins_into_registry(with_catalog=False, selection=selection)
    )
    stop = asyncio.Event()
    store = monitoring.instrument_event_appends_if_enabled(
        RemoteEventStore(connection, batch_encoder(registry, settings), stop.set)
    )
    ports = Ports(settings, config.parent, registry, system_clock, {"events": store})
    async with start_adapters(ports.adapters_with_role(Role.CONSUMER)):
        set_event_on_termination_signals(stop)
        if stop_with_parent:
            await stop_when_parent_ends(stop)
        pipeline = build_ingest_pipeline(ports, settings)
        freeze_objects_and_raise_gc_threshold()
        print_ready_line()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                monitoring.send_heartbeats_if_enabled(
                    Role.CONSUMER, _build_queue_and_workspace_readiness(ports), stop
                )
            )
            tasks.create_task(consume_queue_until_stopped(pipeline, stop))


def batch_encoder(registry: Registry, settings: Settings) -> EncodeBatch:
    """Returns what encodes batches for the event store of a deployment.

    Raises:
        StartupError: batches of this store cannot be encoded by another process.
    """
    adapter = registry.adapter_for_url_scheme("events", settings.storage.events)
    if adapter.encode_batch is None:
        raise StartupError(f"{adapter.scheme}:// takes no batches of another process.")
    return adapter.encode_batch


def _build_queue_and_workspace_readiness(ports: Ports) -> ReadinessChecker:
    probes = [
        build_queue_answers_probe(ports.queue, ports.clock),
        build_change_version_probe(ports.workspace.credentials),
        build_stored_version_probe((ports.queue, ports.workspace)),
    ]
    return ReadinessChecker(probes, ports.clock)
