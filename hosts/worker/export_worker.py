"""The export worker: runs each export job in a new process.

Three layers of processes, so that a crash of one does not end the others: the supervisor
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
from hosts.asgi_runner import run_on_uvloop
from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from hosts.logs import configure_redacted_json_logging
from hosts.subprocesses import print_ready_line, stop_when_parent_ends
from service_core.api.readiness import ReadinessChecker
from service_core.kernel.clock import system_clock
from service_core.kernel.private_files import set_private_umask

CONFIG_VARIABLE: Final = "TOUCHPOINT_WORKER_CONFIG"
"""Environment variable with the settings file, for the process of a job."""


def main() -> None:
    """Runs a worker until it is told to stop: ``python -m hosts.worker.export_worker --config FILE``."""
    parser = argparse.ArgumentParser(prog="python -m hosts.worker.export_worker")
    parser.add_argument("--config", type=Path, required=True, help="the settings file")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    configure_redacted_json_logging()
    set_private_umask()
    os.environ[CONFIG_VARIABLE] = str(given.config.absolute())
    jobs: Any = load_ports(given.config.absolute()).jobs
    Thread(
        target=asyncio.run,
        args=[_send_heartbeats_and_end_with_parent(with_parent=given.with_parent)],
        daemon=True,
    ).start()
    print_ready_line()
    jobs.run_worker_process("hosts.worker.export_worker.run_one_export")


async def _send_heartbeats_and_end_with_parent(*, with_parent: bool) -> None:
    """Writes heartbeats beside the worker, and terminates it when its parent ends."""
    stop = asyncio.Event()
    if with_parent:
        await stop_when_parent_ends(stop)
    await monitoring.send_heartbeats_if_enabled("worker", ReadinessChecker((), system_clock), stop)
    await stop.wait()
    os.kill(os.getpid(), signal.SIGTERM)


def run_one_export() -> None:
    """Runs one queued export job; the environment names the settings file."""
    configure_redacted_json_logging()
    run_on_uvloop(_run_one_export(Path(os.environ[CONFIG_VARIABLE])))


async def _run_one_export(file: Path) -> None:
    from hosts.worker.exports import build_export_worker  # noqa: PLC0415 - with it come the data frames: only here
    from hosts.worker.imports import build_import_worker  # noqa: PLC0415 - likewise

    ports = load_ports(file, instrument=monitoring.instrument_registry_if_enabled)
    events = ports.event_store_in_start_order()
    async with start_adapters([ports.workspace, ports.queue, *events, ports.export_storage]):
        if not await build_export_worker(ports).run_next_job():
            await build_import_worker(ports).run_next_job()


if __name__ == "__main__":
    main()
