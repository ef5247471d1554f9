"""The container: one provider per port, each built once, when it is first asked for.

A new port is one provider, one line of `SETTINGS` and one of `PORTS`, or one base of the database it belongs to;
a property of `Ports` where a host asks for it by name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from dependency_injector import providers

from service_core.access.mail import Mail
from service_core.access.members.ports import Accounts, Invitations, Members, Passwords, Sessions
from service_core.access.oauth.ports import Clients, Grants, Tickets
from service_core.access.passkeys.ports import Challenges, Passkeys, WebAuthn
from service_core.access.ports import Directory, RateLimiter, WorkspaceSettings
from service_core.access.requests.ports import KeyRequests
from service_core.access.signup.ports import Checkout, Signups
from service_core.changes.ports import Holders, Units
from service_core.commerce.ads.ports import SpendStore
from service_core.commerce.costs.ports import CostStore
from service_core.commerce.credentials import SealedSecrets, Vault
from service_core.commerce.providers.ports import ProviderMessages
from service_core.commerce.reach import ProviderReads
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.commerce.turns import ReadingTurns
from service_core.delivery.exports.ports import Exports, ExportSink, ExportWork, JobQueue
from service_core.delivery.postbacks.outbox import Outbox
from service_core.extension.registry import Registry
from service_core.insight.cohorts.ports import Cohorts
from service_core.insight.connections.ports import Connections
from service_core.insight.deliveries.ports import Deliveries
from service_core.insight.funnels.ports import Funnels
from service_core.insight.fx.ports import RateSource, RateStore
from service_core.insight.items.ports import Items
from service_core.insight.lookups.ports import TagClicks, VisitClaims
from service_core.insight.people.ports import Journeys, People
from service_core.insight.ports import Aggregates, EventLog, Paths
from service_core.insight.streams import Streams
from service_core.intake.ports import (
    Devices,
    Domains,
    EventStore,
    Geo,
    IngestQueue,
    LinkTags,
    Place,
    Quarantine,
)
from service_core.kernel.settings import Settings
from service_core.workspace.limits.ports import UsageNotices
from service_core.workspace.links.domains.ports import TextRecords
from service_core.workspace.links.edge import NoMemory
from service_core.workspace.links.ports import Clicks, EdgeMemory
from service_core.workspace.share_links.ports import ShareViews


class WorkspaceDatabase(
    Directory,
    WorkspaceSettings,
    Accounts,
    Passkeys,
    Challenges,
    Members,
    Sessions,
    Invitations,
    KeyRequests,
    Signups,
    Grants,
    Clients,
    Tickets,
    Exports,
    ExportWork,
    VisitClaims,
    Units,
    Holders,
    ShareViews,
    Connections,
    SealedSecrets,
    ReadingTurns,
    ProviderReads,
    ProviderMessages,
    UsageNotices,
    Clicks,
    TagClicks,
    LinkTags,
    SpendStore,
    SubscriptionStore,
    Outbox,
    Deliveries,
    CostStore,
    RateStore,
    Protocol,
):
    """Everything an adapter of the port ``workspace`` implements."""


class EventDatabase(
    EventStore, Aggregates, EventLog, People, Journeys, Cohorts, Funnels, Paths, Items, Streams, Protocol
):
    """Everything an adapter of the port ``events`` implements."""


def _made_of(database: type) -> tuple[Any, ...]:
    """The ports a database is made of."""
    return tuple(port for port in database.__bases__ if port is not Protocol)


PORTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "workspace": _made_of(WorkspaceDatabase),
    "limits": (RateLimiter,),
    "queue": (IngestQueue, Quarantine),
    "edge": (EdgeMemory,),
    "dns": (TextRecords,),
    "events": _made_of(EventDatabase),
    "jobs": (JobQueue,),
    "sink": (ExportSink,),
    "geo": (Geo,),
    "devices": (Devices,),
    "domains": (Domains,),
    "passwords": (Passwords,),
    "passkeys": (WebAuthn,),
    "vault": (Vault,),
    "mail": (Mail,),
    "checkout": (Checkout,),
    "fx": (RateSource,),
}
"""Port -> the types a handler may ask for to get its adapter, in the order adapters are started."""

SETTINGS: Final[Mapping[str, str]] = {
    "workspace": "storage.workspace",
    "limits": "limits.store",
    "queue": "ingest.queue",
    "edge": "links.edge",
    "dns": "links.dns",
    "events": "storage.events",
    "jobs": "exports.jobs",
    "sink": "exports.sink",
    "geo": "geo.database",
    "devices": "devices.parser",
    "domains": "domains.suffixes",
    "passwords": "accounts.passwords",
    "passkeys": "accounts.passkeys",
    "vault": "connections.key",
    "mail": "mail.outbox",
    "checkout": "signup.checkout",
    "fx": "fx.rates",
}
"""Port -> the setting whose URL names its adapter, for whoever reads of it; the container says it in code."""


class Nowhere:
    """The `Geo` of a deployment without a place database: every place is unknown."""

    def locate(self, address: str) -> Place | None:  # noqa: ARG002 - the port asks with an address
        """None, for any address."""
        return None


class Container:
    """Ports of one deployment. Only this package sees it.

    It is a class of ours: those of the library load what wires web frameworks, and with it what is installed of
    these, 4 MB of a process that has none.
    """

    def __init__(self, settings: Settings, folder: Path, registry: Registry) -> None:
        def port(name: str, url: str) -> providers.Provider[Any]:
            return providers.Singleton(registry.open, name, url, folder=folder)

        self.workspace: Final = port("workspace", settings.storage.workspace)
        self.limits: Final = port("limits", settings.limits.store)
        self.queue: Final = port("queue", settings.ingest.queue)
        edge = settings.links.edge
        self.edge: Final = port("edge", edge) if edge else providers.Singleton(NoMemory)
        self.dns: Final = port("dns", settings.links.dns)
        self.events: Final = port("events", settings.storage.events)
        self.jobs: Final = port("jobs", settings.exports.jobs)
        self.sink: Final = port("sink", settings.exports.sink)
        places = settings.geo.database
        self.geo: Final = port("geo", places) if places else providers.Singleton(Nowhere)
        self.devices: Final = port("devices", settings.devices.parser)
        self.domains: Final = port("domains", settings.domains.suffixes)
        self.passwords: Final = port("passwords", settings.accounts.passwords)
        passkeys = settings.accounts.passkeys
        self.passkeys: Final = port("passkeys", passkeys) if passkeys else providers.Object(None)
        self.vault: Final = port("vault", settings.connections.key)
        self.mail: Final = port("mail", settings.mail.outbox)
        self.checkout: Final = port("checkout", settings.signup.checkout)
        rates = settings.fx.rates
        self.fx: Final = port("fx", rates) if rates else providers.Object(None)
