"""Runs the role ``worker``: export jobs in processes of their own."""

from pathlib import Path

from hosts.asgi_runner import run_on_uvloop
from hosts.composition.compose import load_ports
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import start_adapters
from hosts.logs import configure_redacted_json_logging
from hosts.roles.models import Role, require_shareable_stores
from hosts.roles.supervise import run_supervised_processes
from service_core.kernel.errors import StartupError


def run_worker_processes(config: Path, process_count: int = 1) -> None:
    """Runs export jobs until SIGTERM or SIGINT, after which the jobs under way end first.

    Args:
        config: the settings file.
        process_count: how many processes.

    Raises:
        StartupError: the deployment has no use for a worker, or its stores do not allow one; the
            message says what to do.
    """
    configure_redacted_json_logging()
    run_on_uvloop(_require_worker_queue_and_usable_adapters(config.absolute(), process_count))
    run_supervised_processes(config, Role.WORKER, process_count)


async def _require_worker_queue_and_usable_adapters(file: Path, process_count: int) -> None:
    """Opens the adapters of an export job once, so that a mistake in the settings stops the start."""
    ports = load_ports(file)
    if not hasattr(ports.jobs, "run_worker_process"):
        raise StartupError(
            "exports.queue needs no worker: the serving process does the jobs. Start `touchpoint serve`, or name a "
            "queue for workers, as in redis://localhost:6379/0."
        )
    require_shareable_stores(
        load_settings_with_environment(file), ports.registry, {Role.WORKER: process_count}
    )
    events = ports.event_store_in_start_order()
    async with start_adapters([ports.workspace, ports.queue, *events, ports.export_storage]):
        pass
