"""The role ``worker``: export jobs apart, refused where the event store belongs to another process."""

from pathlib import Path

from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.roles.model import Role, check
from hosts.worker.apart import run as run_apart


def run(config: Path, workers: int) -> None:
    """Do export jobs until SIGTERM or SIGINT.

    Raises:
        StartupError: the stores or the queue do not allow it; the message says what to do.
    """
    check(load_settings(config), installed(), {Role.WORKER: workers})
    run_apart(config, workers)
