"""The ports of a deployment, each declared once as an attribute of `Ports`.

The name of the attribute is the name of the port, its annotation says what an adapter has to be, and `port` names the
setting and the roles. The container, the check of the registry, the roles, the backup, ``touchpoint config check``
and the reference page are derived from these declarations.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, Final, Protocol, TypeVar, get_args, get_type_hints

from dependency_injector import providers

from hosts.composition.bindings import Bindings
from hosts.composition.load_settings import redact_url
from hosts.composition.missing_event_store import EventStoreRecorder, MissingEventStoreCheck
from hosts.composition.protocol_comparison import describe_protocol_differences
from hosts.composition.roles import Role
from service_core.access.email_sender import EmailSender
from service_core.access.members.ports import Passwords
from service_core.access.passkeys.ports import WebAuthn
from service_core.access.ports import RateLimiter
from service_core.access.signup.ports import Checkout
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.attribution_reads.ports import JourneyReader
from service_core.analytics.cohorts.ports import CohortReader
from service_core.analytics.experiments.ports import ExperimentReader
from service_core.analytics.freshness import QueueStateReader
from service_core.analytics.funnels.ports import FunnelReader
from service_core.analytics.fx.convert import (
    REFUND_LOOK_BACK,
    ConvertingEventReader,
    CurrencyConverter,
    EventMoneyReader,
)
from service_core.analytics.fx.ports import RateSource
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.line_items.ports import LineItemReader
from service_core.analytics.paths.ports import PathReader
from service_core.analytics.people.ports import PersonActivityReader, PersonReader
from service_core.analytics.ports import AggregateReader, EventReader, TouchPathReader
from service_core.analytics.reads.export_streams import RowStreams
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.commerce.credentials.ports import ConnectionSecrets, SecretCipher
from service_core.delivery.exports.ports import ExportStorage, JobQueue
from service_core.delivery.lake.ports import LakeStorage
from service_core.extensions.adapters import LocalDataKind, parse_adapter_settings
from service_core.extensions.discovery import PluginOrigin
from service_core.extensions.registry import Registry
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.ingestion.event_history import EventHistory
from service_core.ingestion.ports import (
    EventStore,
    GeoLocation,
    GeoLocator,
    ImportedEventStore,
    IngestQueue,
    PersonalDataStore,
    PublicSuffixList,
    Quarantine,
    ReenrichableStore,
    SupersededEventStore,
    UserAgentParser,
    WaitingEvents,
)
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.ports import TxtRecords
from service_core.workspace.links.ports import RedirectCache
from service_core.workspace.links.redirect_lookup import NoRedirectCache

_Component = TypeVar("_Component")

START_LIMIT_SECONDS: Final = 60.0
"""Time in which an adapter has to start, unless its ``start_limit_seconds`` says otherwise; None is no limit."""


class EventDatabase(
    EventStore,
    AggregateReader,
    EventReader,
    PersonReader,
    PersonActivityReader,
    CohortReader,
    FunnelReader,
    ExperimentReader,
    TouchPathReader,
    PathReader,
    JourneyReader,
    LineItemReader,
    RowStreams,
    PersonalDataStore,
    ImportedEventStore,
    ReenrichableStore,
    SupersededEventStore,
    EventHistory,
    Protocol,
):
    """Everything an adapter of the port ``events`` implements."""


class EventQueue(IngestQueue, Quarantine, WaitingEvents, Protocol):
    """Everything an adapter of the port ``queue`` implements."""


class UnknownLocations:
    """The `GeoLocator` of a deployment without a location database: every location is unknown."""

    def locate(self, ip: str) -> GeoLocation | None:  # noqa: ARG002 - the port asks with an address
        """Returns None for any address."""
        return None


class BackupStep(IntEnum):
    """When a backup copies the local data of an adapter; within a step in the order of the declarations."""

    CONSUMER_PAUSED = 1
    """While no event moves from the queue to the event store; the queue is copied first, so no event is lost."""
    RECORDS = 2
    """After the queue: the workspace of each queued event is in the copy."""
    REFERENCED_FILES = 3
    """After the records: each file and key that a record refers to is in the copy."""


@dataclass(eq=False)
class Port:
    """The declaration of one port, and the attribute of `Ports` that gives its adapter.

    Attributes:
        setting: ``section.name`` of the setting whose URL names the adapter.
        roles: the roles that open the adapter, besides ``api``, which opens all.
        shared_example: what the setting may name so that several processes share the adapter.
        fallback: builds the adapter of a deployment whose setting is empty; None where the setting is required.
        backup: the step of a backup that copies the local data of the adapter; None where it has none to copy.
        needs: ``section.name`` of a setting without which the adapter is never used; empty if it always is.
        name: the name of the attribute, which adapters and messages use.
    """

    setting: str
    roles: frozenset[Role]
    shared_example: str = "a server"
    fallback: Callable[[], object] | None = None
    backup: BackupStep | None = None
    needs: str = ""
    name: str = field(init=False)
    _owner: type = field(init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self.name = owner, name

    def __get__(self, ports: "Ports | None", owner: type) -> Any:
        return self if ports is None else ports.adapter(self.name)

    @cached_property
    def adapter_attribute_by_protocol(self) -> Mapping[Any, str | None]:
        """Port type -> attribute of the adapter that serves it; None for the adapter itself."""
        annotation = get_type_hints(self._owner)[self.name]
        (adapter_type,) = {*(get_args(annotation) or (annotation,))} - {NoneType}
        parts = {
            protocol: name
            for name, protocol in get_type_hints(adapter_type).items()
            if getattr(protocol, "_is_protocol", False)
        }
        bases = [base for base in adapter_type.__bases__ if base not in {object, Protocol}]
        return parts or dict.fromkeys(bases or [adapter_type])

    def url(self, settings: Settings) -> str:
        """Returns the URL that names the adapter, empty for none."""
        url: str = attrgetter(self.setting)(settings)
        return url

    def is_used(self, settings: Settings) -> bool:
        """Whether a deployment with these settings uses the adapter."""
        return not self.needs or bool(attrgetter(self.needs)(settings))


def port(setting: str, *roles: Role, **declaration: Any) -> Any:
    """Declares a port that the role ``api`` and the given roles open; the other arguments are those of `Port`."""
    return Port(setting, frozenset({Role.API, *roles}), **declaration)


class Ports:
    """The adapters of one deployment, each opened when it is first requested and then kept.

    A process that needs a few of them, such as the ingest host, opens nothing else.

    Args:
        settings: name the adapters.
        folder: what relative paths in the settings are relative to.
        registry: opens adapters.
        clock: gives the present.
        adapters: port name -> open adapter that takes the place of the one in the settings.
    """

    workspace: WorkspaceStore = port(
        "storage.workspace", *Role, shared_example="a database server", backup=BackupStep.RECORDS
    )
    limits: RateLimiter = port("rate_limits.store", shared_example="redis://localhost:6379/0")
    queue: EventQueue = port(
        "ingest.queue",
        *Role,
        shared_example="redis://localhost:6379/0",
        backup=BackupStep.CONSUMER_PAUSED,
    )
    redirect_cache: RedirectCache = port("links.redirect_cache", Role.INGEST, fallback=NoRedirectCache)
    dns: TxtRecords = port("links.dns_resolver", Role.SCHEDULER, needs="links.domain")
    events: EventDatabase = port(
        "storage.events",
        Role.CONSUMER,
        Role.WORKER,
        Role.SCHEDULER,
        shared_example="a database server, as in postgresql://localhost/touchpoint",
        backup=BackupStep.CONSUMER_PAUSED,
    )
    jobs: JobQueue = port("exports.queue", Role.SCHEDULER)
    export_storage: ExportStorage = port(
        "exports.storage", Role.WORKER, Role.SCHEDULER, backup=BackupStep.REFERENCED_FILES
    )
    lake: LakeStorage | None = port("lake.storage", Role.SCHEDULER, fallback=NoneType)
    geo: GeoLocator = port("geo.database", Role.INGEST, Role.CONSUMER, fallback=UnknownLocations)
    devices: UserAgentParser = port("devices.user_agent_parser", Role.INGEST, Role.CONSUMER)
    domains: PublicSuffixList = port("domains.public_suffix_list", Role.CONSUMER)
    passwords: Passwords = port("accounts.password_hashing")
    passkeys: WebAuthn | None = port("accounts.passkeys", fallback=NoneType)
    secret_cipher: SecretCipher = port(
        "connections.encryption_key", Role.SCHEDULER, backup=BackupStep.REFERENCED_FILES
    )
    mail: EmailSender = port("mail.transport", Role.SCHEDULER)
    checkout: Checkout = port("signup.checkout")
    fx: RateSource | None = port("fx.rates", Role.SCHEDULER, fallback=NoneType)

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        registry: Registry,
        clock: Clock,
        adapters: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.registry: Final = registry
        self.clock: Final = clock
        self._settings = settings
        self.folder: Final = folder
        self._adapters = {
            name: providers.Singleton(self._open_adapter_that_fits_its_port, declared, url)
            if (url := declared.url(settings)) or declared.fallback is None
            else providers.Singleton(declared.fallback)
            for name, declared in PORTS.items()
        } | {name: providers.Object(adapter) for name, adapter in adapters.items()}

    def _open_adapter_that_fits_its_port(self, declared: Port, url: str) -> Any:
        """Returns the adapter of a URL. One of another package is compared with the protocols of its port.

        Raises:
            StartupError: a method that the port declares is missing, or differs; the message names the plugin.
        """
        adapter = self.registry.open_adapter(declared.name, url, base_folder=self.folder)
        if callable(getattr(adapter, "use_clock", None)):
            adapter.use_clock(self.clock)
        if declared.name == "workspace" and isinstance(adapter, WorkspaceStore):
            adapter.history.use_clock(self.clock)
        plugin = self.registry.plugin_of_adapter(declared.name, url.partition("://")[0].lower())
        if plugin is None or plugin.origin is PluginOrigin.BUILT_IN:
            return adapter
        differences = [
            difference
            for protocol, attribute in declared.adapter_attribute_by_protocol.items()
            for difference in describe_protocol_differences(
                adapter if attribute is None else getattr(adapter, attribute, None), protocol
            )
        ]
        if differences:
            raise StartupError(
                f"The adapter that {declared.setting} names does not fit the port {declared.name!r}: "
                f"{'; '.join(differences)}. It is of plugin {plugin.described}."
            )
        return adapter

    def adapter(self, name: str) -> Any:
        """Returns the adapter of a port by its name."""
        return self._adapters[name]()

    @cached_property
    def database_folders(self) -> tuple[Path, ...]:
        """The folders on this machine in which databases of the deployment lie; empty where servers hold all of them.

        Raises:
            StartupError: a setting names an adapter that is not installed, or does not fit it.
        """
        folders = []
        for declared in BACKED_UP_PORTS:
            url = declared.url(self._settings)
            adapter = self.registry.adapter_for_url_scheme(declared.name, url) if url else None
            if adapter is not None and adapter.local_data in {LocalDataKind.SQLITE, LocalDataKind.FILE}:
                path = parse_adapter_settings(adapter, url, self.folder).path
                folders += [path.parent] if path is not None else []
        return tuple(dict.fromkeys(folders))

    def adapters_with_role(self, role: Role) -> tuple[object, ...]:
        """Returns the adapters of the ports that a role opens, in the order they are started."""
        return tuple(self.adapter(declared.name) for declared in PORTS.values() if role in declared.roles)

    def adapters_opened_by(self, role: Role | None = None) -> tuple[object, ...]:
        """Returns the adapters a role opens, in the order they are started; without a role those of all ports."""
        opened: list[object] = []
        for declared in PORTS.values():
            if role is None or role in declared.roles:
                opened += (
                    self.event_store_in_start_order()
                    if declared.name == "events"
                    else [self.adapter(declared.name)]
                )
        return tuple(opened)

    def event_store_in_start_order(self, *, is_queue_open: bool = True) -> Sequence[object]:
        """Returns the event store between the checks before and after its start; the workspace store is started before."""
        check = self.missing_event_store_check(is_queue_open=is_queue_open)
        return check, self.events, self.event_store_recorder()

    def event_store_recorder(self) -> EventStoreRecorder:
        """Returns the component that remembers the event store of the deployment, and that it has events."""
        return EventStoreRecorder(self.events, self.workspace, self.event_store_location, self.clock)

    def missing_event_store_check(self, *, is_queue_open: bool) -> MissingEventStoreCheck:
        """Returns the check that the event store of the deployment is there."""
        ledger = self.queue if is_queue_open else None
        return MissingEventStoreCheck(
            self.events, self.workspace, ledger, self.event_store_location, self.clock
        )

    @property
    def event_store_location(self) -> str:
        """The URL of the event store without secrets."""
        return redact_url(PORTS["events"].url(self._settings))

    def bindings_of_all_adapters(self) -> Bindings:
        """Returns new bindings of every adapter, of its parts, and of what is made of adapters alone."""

        def part_of(name: str, attribute: str | None) -> object:
            adapter = getattr(self, name)
            return adapter if attribute is None else getattr(adapter, attribute)

        parts = {
            protocol: partial(part_of, declared.name, attribute)
            for declared in PORTS.values()
            for protocol, attribute in declared.adapter_attribute_by_protocol.items()
        }
        return Bindings(
            parts
            | {
                Clock: lambda: self.clock,
                Registry: lambda: self.registry,
                QueueStateReader: lambda: self.queue,
                ConnectionSecrets: lambda: self.connection_secrets,
                RateLookup: lambda: self.rate_lookup,
                CurrencyConverter: lambda: self.currency_converter,
                WorkspaceCache: lambda: self.build_from_adapters(WorkspaceCache),
            }
        )

    def build_from_adapters(self, component: type[_Component], **arguments: object) -> _Component:
        """Builds a component from adapters; see `Bindings.build`."""
        return self.bindings_of_all_adapters().build_with_bound_arguments(component, **arguments)

    @property
    def connection_secrets(self) -> ConnectionSecrets:
        """The credentials of connections: stored by the workspace store, encrypted by the cipher."""
        return EncryptedConnectionSecrets(self.workspace.encrypted_secrets, self.secret_cipher)

    @property
    def rate_lookup(self) -> RateLookup:
        """The stored exchange rates."""
        return RateLookup(self.workspace.exchange_rates, self.fx)

    @cached_property
    def currency_converter(self) -> CurrencyConverter:
        """Reads money of other currencies from the event store, converted."""
        return CurrencyConverter(self.events, self.rate_lookup, REFUND_LOOK_BACK)

    @cached_property
    def money_reader(self) -> EventMoneyReader:
        """The event store with money converted, where the deployment has a source of exchange rates."""
        return self.events if self.fx is None else ConvertingEventReader(self.events, self.currency_converter)


PORTS: Final[Mapping[str, Port]] = MappingProxyType(
    {name: declared for name, declared in vars(Ports).items() if isinstance(declared, Port)}
)
"""Name -> declaration, in the order adapters are started."""

BACKED_UP_PORTS: Final = tuple(
    sorted((port for port in PORTS.values() if port.backup is not None), key=attrgetter("backup"))
)
"""The ports whose local data a backup holds, in the order it is copied."""


@asynccontextmanager
async def start_adapters(adapters_in_start_order: Iterable[Any]) -> AsyncIterator[None]:
    """Starts adapters in order, and closes them in the opposite order, also after a failed start."""
    async with AsyncExitStack() as stack:
        for adapter in adapters_in_start_order:
            if hasattr(adapter, "start"):
                await _start_within_its_limit(adapter)
            if hasattr(adapter, "aclose"):
                stack.push_async_callback(adapter.aclose)
        yield


async def _start_within_its_limit(adapter: Any) -> None:
    """Starts an adapter.

    Raises:
        StartupError: it has not started within its limit.
    """
    declared = getattr(adapter, "start_limit_seconds", START_LIMIT_SECONDS)
    limit = declared if declared is None or isinstance(declared, int | float) else START_LIMIT_SECONDS
    try:
        async with asyncio.timeout(limit) as running:
            await adapter.start()
    except TimeoutError:
        if not running.expired():
            raise
        module = adapter.start.__module__
        raise StartupError(
            f"The adapter of {module} did not start within {limit:g} seconds. See that what it connects to answers, "
            "or leave its plugin out with --without-plugin NAME and name another adapter in the settings."
        ) from None
