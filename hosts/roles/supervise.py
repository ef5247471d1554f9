"""``touchpoint serve`` as several processes: each in its role, kept running, let finish at the end.

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
from hosts.caution import warn
from hosts.children import STOP_WITHIN_SECONDS, Child, keep, say_ready
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.logs import write_logs
from hosts.ownership import consumer_of
from hosts.roles.model import SCALES, SERVING, Role, check
from hosts.serving import address_of, bind_together, require, stop_on_signals
from hosts.serving import run as run_loop
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Server

_MODULES: Final[Mapping[Role, str]] = {Role.INGEST: "hosts.ingest", Role.WORKER: "hosts.worker.apart"}
"""Roles that have a module of their own, which loads less."""

_STOP_WITHIN: Final[Mapping[Role, float]] = {Role.WORKER: 1_790.0}
"""Roles that take longer to end than others, in seconds: a worker finishes its job, and has half an hour for it."""


@dataclass(frozen=True, slots=True)
class Post:
    """One process to be kept running."""

    name: str
    module: str
    options: tuple[str, ...]
    listener: socket.socket | None
    environment: Mapping[str, str]
    stop_within: float

    async def start(self) -> Child:
        """Start it, and wait until it works.

        Raises:
            StartupError: it does not.
        """
        return await Child.launch(
            self.name,
            self.module,
            self.options,
            listener=self.listener,
            environment=self.environment,
            stop_within=self.stop_within,
        )


def processes_of(role: Role | None, workers: int) -> dict[Role, int]:
    """Role -> how many processes of it one command runs.

    Raises:
        StartupError: the role runs once.
    """
    if role is not None and role not in SCALES and workers > 1:
        raise StartupError(f"The role {role} is one process. Run it without --workers.")
    roles = SERVING if role is None else (role,)
    return {each: workers if each in SCALES else 1 for each in roles}


def run(
    config: Path,
    role: Role | None,
    workers: int,
    *,
    api: str | None = None,
    ingest: str | None = None,
    server: Server | None = None,
) -> None:
    """Run a deployment's processes until SIGTERM or SIGINT, then let them finish.

    Args:
        config: the settings file.
        role: the role to run alone; None for all of `SERVING`.
        workers: processes of each role that may have several.
        api, ingest: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.

    Raises:
        StartupError: the stores do not allow it, or a process does not start.
    """
    write_logs()
    file = config.absolute()
    settings, processes = load_settings(file), processes_of(role, workers)
    check(settings, installed(), processes)
    if Role.API in processes or Role.INGEST in processes:
        require(server or settings.http.server)
    if Role.API in processes:
        warn(settings)
    doors = {Role.API: api or settings.http.api, Role.INGEST: ingest or settings.http.ingest}
    with ExitStack() as held:
        if Role.CONSUMER in processes and not held.enter_context(consumer_of(file.parent)):
            raise StartupError(f"Another process consumes for {file.parent}. One folder has one consumer.")
        sockets = {
            role: bind_together(address, processes[role])
            for role, address in doors.items()
            if role in processes
        }
        for listener in (each for some in sockets.values() for each in some):
            held.enter_context(listener)
        run_loop(_supervise(posts(file, processes, sockets, server), sockets, settings.monitoring.listen))


def posts(
    file: Path,
    processes: Mapping[Role, int],
    sockets: Mapping[Role, Sequence[socket.socket]],
    server: Server | None,
) -> list[Post]:
    """One post for each process; where the API listens is told to all, since answers name its address."""
    environment = {"TOUCHPOINT_HTTP__API": address_of(sockets[Role.API][0])} if Role.API in sockets else {}
    chosen = ("--server", server) if server else ()
    found = []
    for role, number in processes.items():
        for listener in sockets.get(role, [None] * number):
            options = ("--config", str(file), *(chosen if listener else ()))
            module = _MODULES.get(role, "hosts.roles")
            if role not in _MODULES:
                options = (role, *options, "--processes", str(number))
            lasts = _STOP_WITHIN.get(role, STOP_WITHIN_SECONDS)
            found.append(Post(f"The role {role}", module, options, listener, environment, lasts))
    return found


async def _supervise(
    these: Sequence[Post], sockets: Mapping[Role, Sequence[socket.socket]], shown_at: str
) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    async with monitoring.shown(shown_at, stop) as metrics:
        children = await _started(these)
        for role in (Role.API, Role.INGEST):
            if role in sockets:
                sys.stdout.write(f"{role} http://{address_of(sockets[role][0])}\n")
        if metrics:
            sys.stdout.write(f"metrics http://{metrics}\n")
        if not sockets:
            say_ready()
        sys.stdout.flush()
        async with asyncio.TaskGroup() as tasks:
            for post, child in zip(these, children, strict=True):
                tasks.create_task(keep(child, post.start, stop, _gone))
            await stop.wait()
            for listener in (each for some in sockets.values() for each in some):
                listener.close()  # nobody new comes in while the children finish what they have begun


async def _started(these: Sequence[Post]) -> list[Child]:
    """All of them, or none: when one does not start the others are let finish."""
    starts = [asyncio.create_task(post.start()) for post in these]
    try:
        return list(await asyncio.gather(*starts))
    except BaseException:
        for start in starts:
            start.cancel()
        for outcome in await asyncio.gather(*starts, return_exceptions=True):
            if isinstance(outcome, Child):
                await outcome.stop()
        raise


def _gone(child: Child) -> None:
    monitoring.ended(child.name, child.process.pid)
