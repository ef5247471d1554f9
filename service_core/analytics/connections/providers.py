"""The ad platforms and revenue providers of the installed plugins, as connections refer to them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from service_core.analytics.connections.declaration import ConnectionDeclaration
from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.kernel.errors import StartupError


@dataclass(frozen=True, slots=True)
class InstalledProvider:
    """A provider that a workspace can connect.

    Attributes:
        reports_spend: whether ad spend is read from it.
        event_names: names of the events it sends.
        accepts_webhooks: whether it sends webhooks.
        declaration: how it is connected; None if its plugin declares nothing.
    """

    id: str
    kind: ProviderKind
    reports_spend: bool = False
    event_names: tuple[str, ...] = ()
    accepts_webhooks: bool = False
    declaration: ConnectionDeclaration | None = None

    @property
    def label(self) -> str:
        """Name of the provider on pages."""
        return self.declaration.label if self.declaration else self.id.replace("_", " ").title()

    @property
    def is_send_only(self) -> bool:
        """Whether nothing is read from it, so that no sync shows that it is connected."""
        return self.kind is ProviderKind.ADS and not self.reports_spend


@dataclass(frozen=True, slots=True)
class InstalledProviders:
    """Installed providers by id."""

    by_id: Mapping[str, InstalledProvider] = field(default_factory=dict)

    @classmethod
    def index_by_id_requiring_one_kind(cls, providers: Iterable[InstalledProvider]) -> Self:
        """Returns the providers by id.

        Raises:
            StartupError: one id is that of an ad platform and of a revenue provider.
        """
        by_id: dict[str, InstalledProvider] = {}
        for provider in providers:
            known = by_id.setdefault(provider.id, provider)
            if known.kind is not provider.kind:
                raise StartupError(
                    f"Two plugins bring {provider.id!r}: as an ad platform and as a revenue provider."
                )
        return cls(by_id)

    def ids_of_kind(self, kind: ProviderKind) -> tuple[str, ...]:
        """Returns the ids of the providers of a kind."""
        return tuple(provider.id for provider in self.by_id.values() if provider.kind is kind)

    def event_names(self, provider_id: str) -> tuple[str, ...]:
        """Returns the names of the events that a provider sends; none for one that is not installed."""
        provider = self.by_id.get(provider_id)
        return provider.event_names if provider else ()

    def reports_spend_or_is_uninstalled_ad_platform(self, connection: Connection) -> bool:
        """Returns whether ad spend is expected of a connection.

        An ad platform that is not installed is expected to report it, so that its spend is unknown and not zero.
        """
        provider = self.by_id.get(connection.provider)
        return provider.reports_spend if provider else connection.kind is ProviderKind.ADS

    def is_spend_measured(self, connection: Connection) -> bool:
        """Returns whether the spend of a connection is part of every sum: while it is connected or has failed."""
        return (
            connection.is_connected or connection.has_failed
        ) and self.reports_spend_or_is_uninstalled_ad_platform(connection)
