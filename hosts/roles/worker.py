"""Runs the role ``worker``: export jobs in processes of their own."""

from pathlib import Path

from hosts.asgi_runner import run_event_loop
from hosts.composition.compose import load_installed_registry, load_ports
from hosts.composition.load_settings import load_settings
from hosts.composition.ports import start_adapters
from hosts.logs import configure_logging
from hosts.roles.models import Role, check_store_sharing
from hosts.roles.supervise import run_processes
from service_core.kernel.errors import StartupError


def run_worker(config: Path, workers: int = 1) -> None:
    """Runs export jobs until SIGTERM or SIGINT, after which the jobs under way end first.

    Args:
        config: the settings file.
        workers: how many processes.

    Raises:
        StartupError: the deployment has no use for a worker, or its stores do not allow one; the
            message says what to do.
    """
    configure_logging()
    run_event_loop(_check_configuration(config.absolute(), workers))
    run_processes(config, Role.WORKER, workers)


async def _check_configuration(file: Path, workers: int) -> None:
    """Opens the adapters of an export job once, so that a mistake in the settings stops the start."""
    ports = load_ports(file)
    if not hasattr(ports.jobs, "run_worker_process"):
        raise StartupError(
            "exports.queue needs no worker: the serving process does the jobs. Start `touchpoint serve`, or name a "
            "queue for workers, as in redis://localhost:6379/0."
        )
    check_store_sharing(load_settings(file), load_installed_registry(), {Role.WORKER: workers})
    async with start_adapters([ports.workspace, ports.events, ports.sink]):
        pass
