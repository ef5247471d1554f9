"""The role ``worker``: export jobs apart, refused where nobody would wake a worker or its stores are another's."""

from pathlib import Path

from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import running
from hosts.logs import write_logs
from hosts.roles.model import Role, check
from hosts.roles.supervise import run as supervise
from hosts.serving import run as run_loop
from hosts.worker.apart import ports_of
from service_core.kernel.errors import StartupError


def run(config: Path, workers: int = 1) -> None:
    """Do export jobs until SIGTERM or SIGINT, which let the jobs in hand end first.

    Args:
        config: the settings file.
        workers: how many processes.

    Raises:
        StartupError: the deployment has no use for a worker, or its stores do not allow one; the
            message says what to do.
    """
    write_logs()
    run_loop(_checked(config.absolute(), workers))
    supervise(config, Role.WORKER, workers)


async def _checked(file: Path, workers: int) -> None:
    """Open what a job opens, once, so that a mistake is said at the start and by words."""
    ports = ports_of(file)
    if not hasattr(ports.jobs, "work_apart"):
        raise StartupError(
            "exports.jobs needs no worker: the serving process does the jobs. Start `touchpoint serve`, or name a "
            "queue for workers, as in redis://localhost:6379/0."
        )
    check(load_settings(file), installed(), {Role.WORKER: workers})
    async with running([ports.workspace, ports.events, ports.sink]):
        pass
