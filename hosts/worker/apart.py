"""``touchpoint worker``: export jobs in processes of their own, kept running whatever ends them.

Three layers, so that nothing one of them meets takes the next with it: this supervisor, the worker
that waits for wake-ups, and a fresh process for each job.
"""

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any, Final

from hosts import monitoring
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.logs import write_logs
from hosts.serving import run as run_loop
from hosts.serving import stop_on_signals
from hosts.waiting import waited
from service_core.gateway.readiness import Readiness
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings

CONFIG: Final = "TOUCHPOINT_WORKER_CONFIG"
"""Environment variable with the settings file, for the process of a job."""

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 15.0
STEADY_SECONDS: Final = 60.0
"""A worker that ran for so long was healthy: the next pause is short again."""

_log = logging.getLogger("touchpoint.worker")


def run(config: Path, workers: int = 1) -> None:
    """Supervise workers until SIGTERM or SIGINT, which let the jobs in hand end first.

    Args:
        config: the settings file.
        workers: how many.

    Raises:
        StartupError: the deployment has no use for a worker, or cannot be used by one.
    """
    write_logs()
    file = config.absolute()
    run_loop(_checked(file))
    run_loop(_run([sys.executable, "-m", "hosts.worker.apart", str(file)], workers, load_settings(file)))


async def _checked(file: Path) -> None:
    """Open what a job opens, once, so that a mistake is said at the start and by words."""
    ports = _ports(file)
    if not hasattr(ports.jobs, "work_apart"):
        raise StartupError(
            "exports.jobs needs no worker: the serving process does the jobs. Start `touchpoint serve`, or name a "
            "queue for workers, as in redis://localhost:6379/0."
        )
    async with running([ports.workspace, ports.events, ports.sink]):
        pass


async def _run(command: list[str], workers: int, settings: Settings) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    async with monitoring.shown(settings.monitoring.listen, stop), asyncio.TaskGroup() as tasks:
        tasks.create_task(monitoring.beating("worker", Readiness((), system_clock), stop))
        for _ in range(workers):
            tasks.create_task(_supervise(command, stop))


async def _supervise(command: list[str], stop: asyncio.Event) -> None:
    pause = FIRST_PAUSE_SECONDS
    loop = asyncio.get_running_loop()
    while not stop.is_set():
        started = loop.time()
        process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
        ended, stopping = asyncio.create_task(process.wait()), asyncio.create_task(stop.wait())
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            if process.returncode is None:
                process.terminate()
            await ended
            return
        pause = FIRST_PAUSE_SECONDS if loop.time() - started > STEADY_SECONDS else pause
        _log.error(
            "the worker ended and is started again", extra={"code": process.returncode, "pause": pause}
        )
        await waited(stop, pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _ports(file: Path) -> Ports:
    return Ports(load_settings(file), file.parent, installed(), system_clock)


def do_one() -> None:
    """Do one free export job; the settings file stands in the environment."""
    write_logs()
    run_loop(_do_one(Path(os.environ[CONFIG])))


async def _do_one(file: Path) -> None:
    from hosts.worker.exports import exporter_of  # noqa: PLC0415 - with it come the data frames: only here

    ports = _ports(file)
    registry = installed()
    async with running([ports.workspace, ports.queue, ports.events, ports.sink]):
        await exporter_of(ports, registry).run_next()


def main() -> None:
    """The worker itself, as a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    config: Path = parser.parse_args().config
    write_logs()
    os.environ[CONFIG] = str(config)
    jobs: Any = _ports(config).jobs
    jobs.work_apart("hosts.worker.apart.do_one")


if __name__ == "__main__":
    main()
