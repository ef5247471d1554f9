"""The container: one provider per port, each built once, when it is first asked for.

A new port is one provider, one line of `SETTINGS` and one of `PORTS`, or one base of the database it belongs to;
a property of `Ports` where a host asks for it by name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from dependency_injector import providers

from service_core.access.email_sender import EmailSender
from service_core.access.key_requests.ports import KeyRequests
from service_core.access.members.ports import Accounts, Invitations, Members, Passwords, Sessions
from service_core.access.oauth.ports import OAuthClients, OAuthGrants, OneTimeTokens
from service_core.access.passkeys.ports import PasskeyChallenges, Passkeys, WebAuthn
from service_core.access.ports import CredentialStore, RateLimiter, WorkspaceSettings
from service_core.access.signup.ports import Checkout, Signups
from service_core.analytics.cohorts.ports import CohortReader
from service_core.analytics.connections.ports import Connections
from service_core.analytics.funnels.ports import FunnelReader
from service_core.analytics.fx.ports import ExchangeRateStore, RateSource
from service_core.analytics.install_attribution.ports import MatchedVisits, RecentLinkClicks
from service_core.analytics.line_items.ports import LineItemReader
from service_core.analytics.people.ports import PersonActivityReader, PersonReader
from service_core.analytics.ports import AggregateReader, EventReader, TouchPathReader
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.reads.export_streams import RowStreams
from service_core.changes.ports import Transactions, UniqueKeyLookup
from service_core.commerce.ads.ports import AdSpendStore
from service_core.commerce.costs.ports import ItemCostStore
from service_core.commerce.credentials.ports import EncryptedSecretStore, SecretCipher
from service_core.commerce.providers.ports import ProcessedMessages
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.commerce.sync.freshness import PollStates
from service_core.commerce.sync.ports import SyncLeases
from service_core.delivery.exports.ports import ExportJobs, Exports, ExportStorage, JobQueue
from service_core.delivery.postbacks.outbox import PostbackOutbox
from service_core.extensions.registry import Registry
from service_core.ingestion.ports import (
    EventStore,
    GeoLocation,
    GeoLocator,
    IngestQueue,
    LinkLookup,
    PublicSuffixList,
    Quarantine,
    UserAgentParser,
)
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.ports import TxtRecords
from service_core.workspace.links.ports import ClickStore, RedirectCache
from service_core.workspace.links.redirect_lookup import NoRedirectCache
from service_core.workspace.share_links.ports import ShareLinkViews
from service_core.workspace.usage_alerts.ports import UsageAlertLog


class WorkspaceDatabase(
    CredentialStore,
    WorkspaceSettings,
    Accounts,
    Passkeys,
    PasskeyChallenges,
    Members,
    Sessions,
    Invitations,
    KeyRequests,
    Signups,
    OAuthGrants,
    OAuthClients,
    OneTimeTokens,
    Exports,
    ExportJobs,
    MatchedVisits,
    Transactions,
    UniqueKeyLookup,
    ShareLinkViews,
    Connections,
    EncryptedSecretStore,
    SyncLeases,
    PollStates,
    ProcessedMessages,
    UsageAlertLog,
    ClickStore,
    RecentLinkClicks,
    LinkLookup,
    AdSpendStore,
    SubscriptionStore,
    PostbackOutbox,
    PostbackReader,
    ItemCostStore,
    ExchangeRateStore,
    Protocol,
):
    """Everything an adapter of the port ``workspace`` implements."""


class EventDatabase(
    EventStore,
    AggregateReader,
    EventReader,
    PersonReader,
    PersonActivityReader,
    CohortReader,
    FunnelReader,
    TouchPathReader,
    LineItemReader,
    RowStreams,
    Protocol,
):
    """Everything an adapter of the port ``events`` implements."""


def _made_of(database: type) -> tuple[Any, ...]:
    """The ports a database is made of."""
    return tuple(port for port in database.__bases__ if port is not Protocol)


PORTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "workspace": _made_of(WorkspaceDatabase),
    "limits": (RateLimiter,),
    "queue": (IngestQueue, Quarantine),
    "edge": (RedirectCache,),
    "dns": (TxtRecords,),
    "events": _made_of(EventDatabase),
    "jobs": (JobQueue,),
    "sink": (ExportStorage,),
    "geo": (GeoLocator,),
    "devices": (UserAgentParser,),
    "domains": (PublicSuffixList,),
    "passwords": (Passwords,),
    "passkeys": (WebAuthn,),
    "vault": (SecretCipher,),
    "mail": (EmailSender,),
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


class NullGeo:
    """The `Geo` of a deployment without a place database: every place is unknown."""

    def locate(self, ip: str) -> GeoLocation | None:  # noqa: ARG002 - the port asks with an address
        """None, for any address."""
        return None


class Container:
    """Ports of one deployment. Only this package sees it.

    It is a class of ours: those of the library load what wires web frameworks, and with it what is installed of
    these, 4 MB of a process that has none.
    """

    def __init__(self, settings: Settings, folder: Path, registry: Registry) -> None:
        def port(name: str, url: str) -> providers.Provider[Any]:
            return providers.Singleton(registry.open_adapter, name, url, folder=folder)

        self.workspace: Final = port("workspace", settings.storage.workspace)
        self.limits: Final = port("limits", settings.limits.store)
        self.queue: Final = port("queue", settings.ingest.queue)
        edge = settings.links.edge
        self.edge: Final = port("edge", edge) if edge else providers.Singleton(NoRedirectCache)
        self.dns: Final = port("dns", settings.links.dns)
        self.events: Final = port("events", settings.storage.events)
        self.jobs: Final = port("jobs", settings.exports.jobs)
        self.sink: Final = port("sink", settings.exports.sink)
        places = settings.geo.database
        self.geo: Final = port("geo", places) if places else providers.Singleton(NullGeo)
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
