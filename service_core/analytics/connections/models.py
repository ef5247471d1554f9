"""A connection as it is kept: whose, with what, and how it stands (contract 3.16)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class ProviderKind(StrEnum):
    """What a provider is connected for."""

    ADS = "ads"
    REVENUE = "revenue"


class ConnectionStatus(StrEnum):
    """How a connection stands."""

    CONNECTED = "connected"
    PENDING = "pending"
    ERROR = "error"
    EXPIRED = "expired"
    DISCONNECTED = "disconnected"


@dataclass(frozen=True, slots=True)
class Asset:
    """What conversions can be sent to: a pixel, or a conversion action of Google."""

    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """An account at the provider, with what it holds; a revenue provider's holds no assets.

    Attributes:
        currency, timezone: of the spend and the days of an ad account; None while it was not told.
    """

    id: str
    name: str | None = None
    assets: tuple[Asset, ...] = ()
    currency: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """One provider of one workspace; it holds no secret.

    Attributes:
        provider: ``meta``, ``stripe`` ... or the id of an installed plugin.
        error: what is wrong, for people; None when nothing is.
        last_synced_at: when it was last read with success.
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
        """Whether it worked, and what it would say cannot be read now."""
        return self.status in {ConnectionStatus.ERROR, ConnectionStatus.EXPIRED}
