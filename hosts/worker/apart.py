"""A worker: waits for wake-ups, and has each export job done by a fresh process.

Three layers, so that nothing one of them meets takes the next with it: who keeps workers running
(`hosts.roles.supervise`), the worker here, and the process of a job.
"""

import argparse
import asyncio
import os
import signal
from pathlib import Path
from threading import Thread
from typing import Any, Final

from hosts import monitoring
from hosts.children import say_ready, stop_with_parent
from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from hosts.logs import write_logs
from hosts.serving import run as run_loop
from service_core.gateway.readiness import Readiness
from service_core.kernel.clock import system_clock

CONFIG: Final = "TOUCHPOINT_WORKER_CONFIG"
"""Environment variable with the settings file, for the process of a job."""


def main() -> None:
    """``python -m hosts.worker.apart --config FILE``: work until told to stop; the job in hand ends first."""
    parser = argparse.ArgumentParser(prog="python -m hosts.worker.apart")
    parser.add_argument("--config", type=Path, required=True, help="the settings file")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    write_logs()
    os.environ[CONFIG] = str(given.config.absolute())
    jobs: Any = ports_of(given.config.absolute()).jobs
    Thread(target=asyncio.run, args=[_beside(with_parent=given.with_parent)], daemon=True).start()
    say_ready()
    jobs.work_apart("hosts.worker.apart.do_one")


async def _beside(*, with_parent: bool) -> None:
    """Beside the worker, which listens to its queue alone: tell that it lives, and end it with its parent."""
    stop = asyncio.Event()
    if with_parent:
        await stop_with_parent(stop)
    await monitoring.beating("worker", Readiness((), system_clock), stop)
    await stop.wait()
    os.kill(os.getpid(), signal.SIGTERM)


def do_one() -> None:
    """Do one free export job; the settings file stands in the environment."""
    write_logs()
    run_loop(_do_one(Path(os.environ[CONFIG])))


async def _do_one(file: Path) -> None:
    from hosts.worker.exports import exporter_of  # noqa: PLC0415 - with it come the data frames: only here

    ports = ports_of(file)
    registry = installed()
    async with running([ports.workspace, ports.queue, ports.events, ports.sink]):
        await exporter_of(ports, registry).run_next()


def ports_of(file: Path) -> Ports:
    """The ports of a deployment, none of them open."""
    return Ports(load_settings(file), file.parent, installed(), system_clock)


if __name__ == "__main__":
    main()
