"""Starts child processes, restarts those that end, and stops them in order."""

import asyncio
import logging
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Self, cast

from hosts.shutdown_sleep import sleep_unless_stopped
from service_core.kernel.errors import StartupError

READY_WORD: Final = "ready"
"""First word of the line that tells a parent where the process listens: ``ready HOST:PORT``, or ``ready -``."""

START_TIMEOUT_SECONDS: Final = 60.0
"""A guard against hanging; many processes that start at once on few cores take their time."""

STOP_TIMEOUT_SECONDS: Final = 40.0
"""How long a process may take to end once it is told to: longer than a server drains, shorter than a deployment waits."""

OUTPUT_DRAIN_SECONDS: Final = 1.0
"""Time to read output after a process has ended: another one may hold its output open for ever."""

INITIAL_BACKOFF_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 15.0
HEALTHY_AFTER_SECONDS: Final = 60.0
"""A process that ran for so long was healthy: it is started again without much of a pause."""

_log = logging.getLogger("touchpoint.children")


def print_ready_line(address: str = "-") -> None:
    """Prints the line by which the parent learns that this process is ready, and where it listens."""
    sys.stdout.write(f"{READY_WORD} {address}\n")
    sys.stdout.flush()


async def stop_when_parent_ends(stop: asyncio.Event) -> None:
    """Sets ``stop`` when the parent ends, which closes standard input."""

    class EndOfParent(asyncio.Protocol):
        def connection_lost(self, _exc: Exception | None) -> None:
            stop.set()

    await asyncio.get_running_loop().connect_read_pipe(EndOfParent, sys.stdin)


class Subprocess:
    """A running child process; it ends when this process ends for any reason.

    Attributes:
        name: what it is called when something is to be said of it.
        address: ``HOST:PORT`` it listens on; ``-`` when it does not.
        process: the process itself.
        stop_timeout: seconds it may take to end once it is told to.
    """

    def __init__(self, name: str, process: Process, address: str, stop_timeout: float) -> None:
        self.name: Final = name
        self.process: Final = process
        self.address: Final = address
        self.stop_timeout: Final = stop_timeout
        self._output_task: asyncio.Task[None] | None = None

    @classmethod
    async def launch_and_wait_until_ready(
        cls,
        name: str,
        module: str,
        options: Sequence[str],
        *,
        listener: socket.socket | None = None,
        sockets: Mapping[str, socket.socket] = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
        stop_timeout: float = STOP_TIMEOUT_SECONDS,
    ) -> Self:
        """Starts a module that takes ``--with-parent``, and waits until it prints `READY_WORD`.

        Args:
            name: what it is called.
            module: run with ``python -m``.
            options: its command line.
            listener: a listening socket it is given, as ``--fd``.
            sockets: further sockets it is given, by option.
            environment: variables besides those of this process.
            stop_timeout: seconds it may take to end once it is told to.

        Raises:
            StartupError: it ended, or was not ready in a minute; its own words stand on standard error.
        """
        passed = sockets if listener is None else {**sockets, "--fd": listener}
        given = [text for option, one in passed.items() for text in (option, str(one.fileno()))]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *options, *given, "--with-parent",
            stdin=PIPE, stdout=PIPE,
            pass_fds=[one.fileno() for one in passed.values()],
            start_new_session=True,  # a key pressed in a terminal is for this process, which tells its children
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                line = (await process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        except BaseException:
            process.terminate()
            raise
        if not line.startswith(f"{READY_WORD} "):
            ended = process.stdout.at_eof()
            await cls(name, process, "", stop_timeout).terminate_or_kill_after_timeout()
            hung = f"it was not ready within {START_TIMEOUT_SECONDS:.0f} seconds"
            raise StartupError(f"{name} did not start; {'its reason stands above' if ended else hung}.")
        child = cls(name, process, line.split()[1], stop_timeout)
        child._output_task = asyncio.create_task(_forward_output(process.stdout))
        return child

    async def wait_for_exit_code_and_output(self) -> int:
        """Waits until the process has ended; returns the exit code, negative for a signal."""
        code = await self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self._output_task is not None:
            _, late = await asyncio.wait([self._output_task], timeout=OUTPUT_DRAIN_SECONDS)
            if late:
                cast(Any, self.process)._transport.close()  # noqa: SLF001 - nothing else lets go of an output
                await asyncio.wait([self._output_task])
        return code

    async def terminate_or_kill_after_timeout(self) -> int:
        """Terminates the process and waits for its end; kills it after `stop_timeout`."""
        if self.process.returncode is None:
            self.process.terminate()
        try:
            async with asyncio.timeout(self.stop_timeout):
                return await self.wait_for_exit_code_and_output()
        except TimeoutError:
            _log.error("%s did not end when it was told to, and is killed", self.name)
            self.process.kill()
            return await self.wait_for_exit_code_and_output()


async def _forward_output(output: asyncio.StreamReader) -> None:
    """Forwards the output of a process after its ready line, such as mail that is printed."""
    while piece := await output.read(65_536):
        sys.stdout.write(piece.decode(errors="replace"))
        sys.stdout.flush()


async def restart_with_backoff_until_stopped(
    child: Subprocess | None,
    restart: Callable[[], Awaitable[Subprocess]],
    stop: asyncio.Event,
    on_unexpected_end: Callable[[Subprocess], None] = lambda _: None,
) -> None:
    """Keeps a process running until ``stop`` is set; then stops it.

    Args:
        child: the running process; None starts it.
        restart: starts it, or starts it anew; a start that fails is logged and tried again.
        stop: ends the supervision.
        on_unexpected_end: called with each process that ended, before the next one is started.
    """
    pause = 0.0 if child is None else INITIAL_BACKOFF_SECONDS
    loop = asyncio.get_running_loop()
    while True:
        while child is None:
            if not await sleep_unless_stopped(stop, pause):
                return
            pause = min(max(2 * pause, INITIAL_BACKOFF_SECONDS), MAX_BACKOFF_SECONDS)
            try:
                child = await restart()
            except (StartupError, OSError) as fault:
                _log.error("%s", fault, extra={"pause": pause})
        began = loop.time()
        if await _is_stopped_before_process_ends(child, stop):
            await child.terminate_or_kill_after_timeout()
            return
        pause = INITIAL_BACKOFF_SECONDS if loop.time() - began > HEALTHY_AFTER_SECONDS else pause
        _log.error(
            "%s ended and is started again",
            child.name,
            extra={"code": child.process.returncode, "pause": pause},
        )
        on_unexpected_end(child)
        child = None


async def _is_stopped_before_process_ends(child: Subprocess, stop: asyncio.Event) -> bool:
    """Returns True when ``stop`` is set before the process ends, otherwise False."""
    ended, stopping = (
        asyncio.create_task(child.wait_for_exit_code_and_output()),
        asyncio.create_task(stop.wait()),
    )
    try:
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
    except BaseException:
        await child.terminate_or_kill_after_timeout()
        raise
    finally:
        ended.cancel()
        stopping.cancel()
    return stop.is_set()
