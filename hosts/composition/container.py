"""The container: one provider per port, each built once, when it is first asked for.

A new port is one provider and one line of `PORTS`; a property of `Ports` where a host asks for it by name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from dependency_injector import containers, providers

from service_core.access.ports import Directory, RateLimiter
from service_core.extension import Registry
from service_core.insight.cohorts.ports import Cohorts
from service_core.insight.funnels.ports import Funnels
from service_core.insight.ports import Aggregates, EventLog, Paths, People
from service_core.intake.ports import Devices, Domains, EventStore, Geo, IngestQueue, Place
from service_core.kernel.clock import Clock
from service_core.kernel.settings import Settings

PORTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "workspace": (Directory,),
    "limits": (RateLimiter,),
    "queue": (IngestQueue,),
    "events": (EventStore, Aggregates, EventLog, People, Cohorts, Funnels, Paths),
    "geo": (Geo,),
    "devices": (Devices,),
    "domains": (Domains,),
}
"""Port -> the types a handler may ask for to get its adapter, in the order adapters are started."""


class EventDatabase(EventStore, Aggregates, EventLog, People, Cohorts, Funnels, Paths, Protocol):
    """Everything an adapter of the port ``events`` implements."""


def _open(registry: Registry, folder: Path, port: str, url: str) -> Any:
    return registry.open(port, url, folder=folder)


class Nowhere:
    """The `Geo` of a deployment without a place database: every place is unknown."""

    def locate(self, address: str) -> Place | None:  # noqa: ARG002 - the port asks with an address
        """None, for any address."""
        return None


def _open_geo(registry: Registry, folder: Path, url: str) -> Any:
    return _open(registry, folder, "geo", url) if url else Nowhere()


class Container(containers.DeclarativeContainer):
    """Ports of one deployment. Only this package sees it."""

    settings = providers.Dependency(instance_of=Settings)
    folder = providers.Dependency(instance_of=Path)
    registry = providers.Dependency(instance_of=Registry)
    clock: providers.Dependency[Clock] = providers.Dependency()

    workspace = providers.Singleton(_open, registry, folder, "workspace", settings.provided.storage.workspace)
    limits = providers.Singleton(_open, registry, folder, "limits", settings.provided.limits.store)
    queue = providers.Singleton(_open, registry, folder, "queue", settings.provided.ingest.queue)
    events = providers.Singleton(_open, registry, folder, "events", settings.provided.storage.events)
    geo = providers.Singleton(_open_geo, registry, folder, settings.provided.geo.database)
    devices = providers.Singleton(_open, registry, folder, "devices", settings.provided.devices.parser)
    domains = providers.Singleton(_open, registry, folder, "domains", settings.provided.domains.suffixes)
