"""Which roles one command runs, and whether the stores of a deployment let them be several processes."""

from collections.abc import Mapping
from typing import Final

from hosts.composition.ports import PORTS
from hosts.composition.roles import Role as Role
from service_core.extensions.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings

SCALABLE_ROLES: Final = frozenset({Role.API, Role.INGEST, Role.WORKER})
"""Roles whose number of processes is an option of the command."""

SERVED_ROLES: Final = (Role.INGEST, Role.API, Role.CONSUMER, Role.SCHEDULER)
"""The roles `touchpoint serve --workers N` runs; workers are started apart, as many as exports need."""


def require_shareable_stores(
    settings: Settings, registry: Registry, process_count_by_role: Mapping[Role, int]
) -> None:
    """Refuses several processes on a store that only one process can use.

    Args:
        settings: the deployment.
        registry: what is installed.
        process_count_by_role: how many of each role are about to run. Where only some roles are, the others are
            taken to run elsewhere: a deployment is not whole without them.

    Raises:
        StartupError: a store belongs to one process and more would use it; the message says what to do.
    """
    for port in PORTS.values():
        users = sum(process_count_by_role.get(role, 1) for role in port.roles)
        url = port.url(settings)
        if not url or users == 1 or port.roles.isdisjoint(process_count_by_role):
            continue
        adapter = registry.adapter_for_url_scheme(port.name, url)
        if not adapter.multi_process:
            raise StartupError(
                f"{port.setting} names {adapter.scheme}://, which belongs to one process, and {users} would use it "
                f"({', '.join(sorted(port.roles))}). Run `touchpoint serve` without --role and --workers, or let it "
                f"name what processes share: {port.shared_example}."
            )
