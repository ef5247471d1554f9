"""``touchpoint worker``: export jobs apart from the serving process."""

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile


def worker(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Do export jobs, one at a time, on any machine.

    For deployments whose `exports.jobs` names a queue; run as many as you like. SIGTERM lets the job in
    hand end first.
    """
    from hosts.roles.worker import run

    run(config)
