"""The ports of a deployment as plain attributes, and how they are started and closed."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from hosts.composition.container import PORTS, Container, EventDatabase, WorkspaceDatabase
from service_core.access.email_sender import EmailSender
from service_core.access.members.ports import Passwords
from service_core.access.passkeys.ports import WebAuthn
from service_core.access.ports import RateLimiter
from service_core.access.signup.ports import Checkout
from service_core.analytics.fx.convert import (
    REFUND_LOOK_BACK,
    ConvertingEventReader,
    CurrencyConverter,
    EventMoneyReader,
)
from service_core.analytics.fx.ports import RateSource
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.commerce.credentials.ports import ConnectionSecrets, SecretCipher
from service_core.commerce.providers.ports import RevenueProvider
from service_core.delivery.exports.ports import ExportStorage, JobQueue
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.registry import Registry
from service_core.ingestion.ports import (
    GeoLocator,
    IngestQueue,
    PublicSuffixList,
    Quarantine,
    UserAgentParser,
)
from service_core.kernel.clock import Clock
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.ports import TxtRecords
from service_core.workspace.links.ports import RedirectCache


class Ports:
    """The adapters of one deployment, each opened when it is first asked for and then kept.

    A process that needs a few of them, such as the ingest host, opens nothing else.
    """

    def __init__(self, settings: Settings, folder: Path, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._container = Container(settings, folder, registry)
        self._clock = clock

    @property
    def workspace(self) -> WorkspaceDatabase:
        """Workspaces, keys and people."""
        return cast(WorkspaceDatabase, self._container.workspace())

    @property
    def limits(self) -> RateLimiter:
        """Counters of budgets."""
        return cast(RateLimiter, self._container.limits())

    @property
    def queue(self) -> IngestQueue:
        """The durable queue between ingest and the event store."""
        return cast(IngestQueue, self._container.queue())

    @property
    def edge(self) -> RedirectCache:
        """Redirects as several machines remember them."""
        return cast(RedirectCache, self._container.edge())

    @property
    def dns(self) -> TxtRecords:
        """Text records of the public DNS."""
        return cast(TxtRecords, self._container.dns())

    @property
    def quarantine(self) -> Quarantine:
        """What the queue holds of events that could not be stored."""
        return cast(Quarantine, self._container.queue())

    @property
    def events(self) -> EventDatabase:
        """The event store, both sides."""
        return cast(EventDatabase, self._container.events())

    @property
    def jobs(self) -> JobQueue:
        """What wakes the workers of export jobs."""
        return cast(JobQueue, self._container.jobs())

    @property
    def sink(self) -> ExportStorage:
        """Where export files are kept."""
        return cast(ExportStorage, self._container.sink())

    @property
    def geo(self) -> GeoLocator:
        """Address to place."""
        return cast(GeoLocator, self._container.geo())

    @property
    def devices(self) -> UserAgentParser:
        """User agent to device."""
        return cast(UserAgentParser, self._container.devices())

    @property
    def domains(self) -> PublicSuffixList:
        """Host name to registrable domain."""
        return cast(PublicSuffixList, self._container.domains())

    @property
    def passwords(self) -> Passwords:
        """The slow hash of passwords."""
        return cast(Passwords, self._container.passwords())

    @property
    def passkeys(self) -> WebAuthn | None:
        """What reads passkeys; None for a deployment without."""
        return cast(WebAuthn | None, self._container.passkeys())

    @property
    def vault(self) -> SecretCipher:
        """What seals credentials."""
        return cast(SecretCipher, self._container.vault())

    @property
    def connection_secrets(self) -> ConnectionSecrets:
        """Credentials of connections: kept by the workspace store, sealed by the vault."""
        return EncryptedConnectionSecrets(self.workspace, self.vault)

    @property
    def revenue_providers(self) -> Mapping[str, RevenueProvider]:
        """Whose webhooks are taken, by id."""
        return self._registry.revenue_providers

    @property
    def conversion_senders(self) -> Mapping[str, ConversionSender]:
        """What sends conversions, by platform."""
        return self._registry.conversion_senders

    @property
    def mail(self) -> EmailSender:
        """Outgoing mail."""
        return cast(EmailSender, self._container.mail())

    @property
    def checkout(self) -> Checkout:
        """Where people pay."""
        return cast(Checkout, self._container.checkout())

    @property
    def fx(self) -> RateSource | None:
        """Who publishes exchange rates; None for a deployment that has chosen nobody."""
        return cast(RateSource | None, self._container.fx())

    @property
    def exchange(self) -> RateLookup:
        """Exchange rates as they are kept."""
        return RateLookup(self.workspace, self.fx)

    @cached_property
    def ledger(self) -> EventMoneyReader:
        """The event store, as far as it tells of money: with rates where the deployment has any."""
        return self.events if self.fx is None else ConvertingEventReader(self.events, self.rated)

    @cached_property
    def rated(self) -> CurrencyConverter:
        """What asks the event store again for money of other currencies."""
        return CurrencyConverter(self.events, self.exchange, REFUND_LOOK_BACK)

    @property
    def clock(self) -> Clock:
        """The present."""
        return self._clock

    def all_adapters(self) -> tuple[object, ...]:
        """Every adapter, in the order they are started."""
        return tuple(self._adapter(port) for port in PORTS)

    def adapters_by_type(self) -> Mapping[Any, object]:
        """Type a handler may ask for -> its adapter."""
        return {kind: self._adapter(port) for port, kinds in PORTS.items() for kind in kinds}

    def _adapter(self, port: str) -> object:
        return getattr(self._container, port)()


@asynccontextmanager
async def start_adapters(adapters: Iterable[Any]) -> AsyncIterator[None]:
    """Start adapters in order, and close them in the opposite order, also after a failed start."""
    async with AsyncExitStack() as stack:
        for adapter in adapters:
            if hasattr(adapter, "start"):
                await adapter.start()
            if hasattr(adapter, "aclose"):
                stack.push_async_callback(adapter.aclose)
        yield
