"""What a revenue provider is to the house, and where its secrets are."""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from service_core.commerce.providers.model import Delivery, Mapped


class RevenueProvider(Protocol):
    """A revenue provider, built once per deployment; whose account it is arrives with each call."""

    @property
    def id(self) -> str:
        """Id of the provider, such as ``stripe``: of its connection, its webhook and its events."""

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether the provider signed these bytes within the last 300 seconds; compared in constant time."""

    def mapped(self, message: Mapping[str, Any], account_id: str) -> Mapped:
        """What a message says, by the raw body read as JSON.

        Raises:
            ValueError: it is not what the provider documents; the text says what is missing.
        """


class ConnectionSecrets(Protocol):
    """Credentials of connections, sealed where they are kept; never in an answer or a log."""

    async def secrets(self, workspace_id: UUID, provider: str) -> Mapping[str, str] | None:
        """Those of a connection by name, such as ``webhook_secret``; None when it has none.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def save_secrets(self, workspace_id: UUID, provider: str, secrets: Mapping[str, str]) -> None:
        """Replace those of a connection; without any, forget them."""
