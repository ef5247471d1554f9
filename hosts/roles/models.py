"""The roles of a deployment's processes, and whether its stores let them run apart."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Final

from service_core.extensions.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


class Role(StrEnum):
    """What one process of a deployment does."""

    API = "api"
    INGEST = "ingest"
    CONSUMER = "consumer"
    WORKER = "worker"
    SCHEDULER = "scheduler"


SCALABLE_ROLES: Final = frozenset({Role.API, Role.INGEST, Role.WORKER})
"""Roles of which one command runs as many processes as it is told."""

SERVED_ROLES: Final = (Role.INGEST, Role.API, Role.CONSUMER, Role.SCHEDULER)
"""The roles `touchpoint serve --workers N` runs; workers are started apart, as many as exports need."""

ROLES_BY_SETTING: Final[Mapping[str, frozenset[Role]]] = {
    "storage.workspace": frozenset(Role),
    "ingest.queue": frozenset(Role),
    "storage.events": frozenset({Role.API, Role.CONSUMER, Role.WORKER, Role.SCHEDULER}),
    "limits.store": frozenset({Role.API}),
}
"""Setting -> the roles that open what it names."""

_PORTS: Final[Mapping[str, str]] = {
    "storage.workspace": "workspace",
    "ingest.queue": "queue",
    "storage.events": "events",
    "limits.store": "limits",
}
_SHARED_STORE_EXAMPLES: Final[Mapping[str, str]] = {
    "storage.workspace": "a database server",
    "ingest.queue": "redis://localhost:6379/0",
    "storage.events": "a database server, as in postgresql://localhost/touchpoint",
    "limits.store": "redis://localhost:6379/0",
}
"""Setting -> what it may name for several processes."""


def check_store_sharing(settings: Settings, registry: Registry, processes: Mapping[Role, int]) -> None:
    """Refuse processes that would share what belongs to one.

    Args:
        settings: the deployment.
        registry: what is installed.
        processes: how many of each role are about to run. Where only some roles are, the others are
            taken to run elsewhere: a deployment is not whole without them.

    Raises:
        StartupError: a store belongs to one process and more would use it; the message says what to do.
    """
    for setting, scheme in _single_process_stores(settings, registry):
        if ROLES_BY_SETTING[setting].isdisjoint(processes):
            continue
        users = sum(processes.get(role, 1) for role in ROLES_BY_SETTING[setting])
        if users > 1:
            roles = ", ".join(sorted(ROLES_BY_SETTING[setting]))
            raise StartupError(
                f"{setting} names {scheme}://, which belongs to one process, and {users} would use it ({roles}). "
                "Run `touchpoint serve` without --role and --workers, or let it name "
                f"what processes share: {_SHARED_STORE_EXAMPLES[setting]}."
            )


def _single_process_stores(settings: Settings, registry: Registry) -> Iterator[tuple[str, str]]:
    """Settings that name a store for one process, with its scheme."""
    for setting, port in _PORTS.items():
        adapter = registry.adapter_for_url(port, attrgetter(setting)(settings))
        if not adapter.multi_process:
            yield setting, adapter.scheme
