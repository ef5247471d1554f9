"""A connection of a workspace to a provider, and its status."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class ProviderKind(StrEnum):
    """Purpose of a provider."""

    ADS = "ads"
    REVENUE = "revenue"
    EVENTS = "events"


class ConnectionStatus(StrEnum):
    """Status of a connection."""

    CONNECTED = "connected"
    PENDING = "pending"
    ERROR = "error"
    EXPIRED = "expired"
    DISCONNECTED = "disconnected"


@dataclass(frozen=True, slots=True)
class Asset:
    """Destination of conversions: a pixel, or a conversion action."""

    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """An account at the provider, with its assets; accounts of revenue providers have none.

    Attributes:
        id: id at the provider.
        name: display name.
        assets: destinations of conversions.
        currency, timezone: of spend and days of an ad account; None if unknown.
    """

    id: str
    name: str | None = None
    assets: tuple[Asset, ...] = ()
    currency: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """One provider of one workspace, without secrets.

    Attributes:
        workspace_id: the workspace.
        provider: id of the provider.
        kind: purpose of the provider.
        status: status of the connection.
        created_at: when it was connected.
        accounts: accounts at the provider.
        error: the problem, for people; None if there is none.
        last_synced_at: last successful sync.
    """

    workspace_id: UUID
    provider: str
    kind: ProviderKind
    status: ConnectionStatus
    created_at: datetime
    accounts: tuple[ConnectedAccount, ...] = ()
    error: str | None = None
    last_synced_at: datetime | None = None

    @property
    def is_connected(self) -> bool:
        """Whether it works at present."""
        return self.status is ConnectionStatus.CONNECTED

    @property
    def has_failed(self) -> bool:
        """Whether it worked before and cannot be read now."""
        return self.status in {ConnectionStatus.ERROR, ConnectionStatus.EXPIRED}
