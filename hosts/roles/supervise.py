"""Runs ``touchpoint serve`` as several processes, restarts those that end, and stops them in order.

This process listens and its children answer: a socket outlives the child that serves it, so what
connects while one is started again waits a moment instead of being refused.
"""

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hosts import monitoring
from hosts.asgi_runner import (
    bind_listeners_with_reuse_port,
    listener_address,
    require_server_installed,
    run_on_uvloop,
    set_event_on_termination_signals,
)
from hosts.composition.compose import load_registry_of_deployment
from hosts.composition.load_settings import load_settings_with_environment
from hosts.consumer_lock import try_consumer_lock
from hosts.logs import configure_redacted_json_logging
from hosts.roles.models import SCALABLE_ROLES, SERVED_ROLES, Role, require_shareable_stores
from hosts.serving_addresses import recorded_listen_addresses
from hosts.startup_warnings import log_startup_warnings
from hosts.subprocesses import (
    STOP_TIMEOUT_SECONDS,
    Subprocess,
    print_ready_line,
    restart_with_backoff_until_stopped,
)
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import AsgiServer

_MODULES: Final[Mapping[Role, str]] = {Role.INGEST: "hosts.ingest", Role.WORKER: "hosts.worker.export_worker"}
"""Roles that have a module of their own, which loads less."""

_STOP_TIMEOUTS: Final[Mapping[Role, float]] = {Role.WORKER: 1_790.0}
"""Roles that take longer to end than others, in seconds: a worker finishes its job, and has half an hour for it."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """How to start one process that is kept running."""

    name: str
    module: str
    options: tuple[str, ...]
    listener: socket.socket | None
    environment: Mapping[str, str]
    stop_timeout: float

    async def start_and_wait_until_ready(self) -> Subprocess:
        """Starts the process, and waits until it is ready.

        Raises:
            StartupError: it does not.
        """
        return await Subprocess.launch_and_wait_until_ready(
            self.name,
            self.module,
            self.options,
            listener=self.listener,
            environment=self.environment,
            stop_timeout=self.stop_timeout,
        )


def count_processes_by_role(only_role: Role | None, processes_per_scalable_role: int) -> dict[Role, int]:
    """Returns role -> number of processes that one command runs.

    Raises:
        StartupError: the role runs once.
    """
    if only_role is not None and only_role not in SCALABLE_ROLES and processes_per_scalable_role > 1:
        raise StartupError(f"The role {only_role} is one process. Run it without --workers.")
    roles = SERVED_ROLES if only_role is None else (only_role,)
    return {
        served_role: processes_per_scalable_role if served_role in SCALABLE_ROLES else 1
        for served_role in roles
    }


def run_supervised_processes(
    config: Path,
    only_role: Role | None,
    processes_per_scalable_role: int,
    *,
    api_address: str | None = None,
    ingest_address: str | None = None,
    server: AsgiServer | None = None,
) -> None:
    """Runs the processes of a deployment until SIGTERM or SIGINT, then stops them.

    Args:
        config: the settings file.
        only_role: the role to run alone; None for all of `SERVED_ROLES`.
        processes_per_scalable_role: processes of each role that may have several.
        api_address, ingest_address: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.

    Raises:
        StartupError: the stores do not allow it, or a process does not start.
    """
    configure_redacted_json_logging()
    file = config.absolute()
    settings, processes = (
        load_settings_with_environment(file),
        count_processes_by_role(only_role, processes_per_scalable_role),
    )
    require_shareable_stores(settings, load_registry_of_deployment(settings, file.parent), processes)
    for role, configured in (
        (Role.API, settings.http.server),
        (Role.INGEST, settings.http.effective_ingest_server),
    ):
        if role in processes:
            require_server_installed(server or configured)
    if Role.API in processes:
        log_startup_warnings(settings)
    address_by_role = {
        Role.API: api_address or settings.http.api,
        Role.INGEST: ingest_address or settings.http.ingest,
    }
    with ExitStack() as resources:
        if Role.CONSUMER in processes and not resources.enter_context(try_consumer_lock(file.parent)):
            raise StartupError(f"Another process consumes for {file.parent}. One folder has one consumer.")
        sockets = {
            role: bind_listeners_with_reuse_port(address, processes[role])
            for role, address in address_by_role.items()
            if role in processes
        }
        for listener in (
            role_listener for role_listeners in sockets.values() for role_listener in role_listeners
        ):
            resources.enter_context(listener)
        served = {role.value: listener_address(bound[0]) for role, bound in sockets.items()}
        if served:
            resources.enter_context(recorded_listen_addresses(file.parent, **served))
        run_on_uvloop(
            _start_and_keep_running_until_stopped(
                build_process_specs(file, processes, sockets, server), sockets, settings.monitoring.listen
            )
        )


def build_process_specs(
    file: Path,
    process_count_by_role: Mapping[Role, int],
    listeners_by_role: Mapping[Role, Sequence[socket.socket]],
    server: AsgiServer | None,
) -> list[ProcessSpec]:
    """Returns how to start each process; all of them get the addresses that answers name."""
    environment = {
        f"TOUCHPOINT_HTTP__{role.name}": listener_address(listeners_by_role[role][0])
        for role in (Role.API, Role.INGEST)
        if role in listeners_by_role
    }
    chosen = ("--server", server) if server else ()
    specs = []
    for role, number in process_count_by_role.items():
        for listener in listeners_by_role.get(role, [None] * number):
            options = ("--config", str(file), *(chosen if listener else ()))
            module = _MODULES.get(role, "hosts.roles")
            if role not in _MODULES:
                options = (role, *options, "--processes", str(number))
            lasts = _STOP_TIMEOUTS.get(role, STOP_TIMEOUT_SECONDS)
            specs.append(ProcessSpec(f"The role {role}", module, options, listener, environment, lasts))
    return specs


async def _start_and_keep_running_until_stopped(
    specs: Sequence[ProcessSpec],
    listeners_by_role: Mapping[Role, Sequence[socket.socket]],
    metrics_address: str,
) -> None:
    stop = asyncio.Event()
    set_event_on_termination_signals(stop)
    async with monitoring.serve_metrics_if_address_given(metrics_address, stop) as metrics:
        children = await _start_all_or_stop_started(specs)
        for role in (Role.API, Role.INGEST):
            if role in listeners_by_role:
                sys.stdout.write(f"{role} http://{listener_address(listeners_by_role[role][0])}\n")
        if metrics:
            sys.stdout.write(f"metrics http://{metrics}\n")
        if not listeners_by_role:
            print_ready_line()
        sys.stdout.flush()
        async with asyncio.TaskGroup() as tasks:
            for spec, child in zip(specs, children, strict=True):
                tasks.create_task(
                    restart_with_backoff_until_stopped(
                        child, spec.start_and_wait_until_ready, stop, monitoring.count_process_end_if_enabled
                    )
                )
            await stop.wait()
            for listener in (
                role_listener
                for role_listeners in listeners_by_role.values()
                for role_listener in role_listeners
            ):
                listener.close()  # nobody new comes in while the children finish what they have begun


async def _start_all_or_stop_started(specs: Sequence[ProcessSpec]) -> list[Subprocess]:
    """Starts all processes; when one does not start, the others are stopped."""
    starts = [asyncio.create_task(spec.start_and_wait_until_ready()) for spec in specs]
    try:
        return list(await asyncio.gather(*starts))
    except BaseException:
        for start in starts:
            start.cancel()
        for outcome in await asyncio.gather(*starts, return_exceptions=True):
            if isinstance(outcome, Subprocess):
                await outcome.terminate_or_kill_after_timeout()
        raise
