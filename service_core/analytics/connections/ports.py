"""Port for stored connections."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.analytics.connections.models import Connection


class Connections(Protocol):
    """The connections of every workspace, one per provider.

    Every process that talks to a provider saves the result: the status, the accounts, the time of the sync, or
    the error.
    """

    async def list_connections_oldest_first(self, workspace_id: UUID) -> list[Connection]:
        """Returns the connections of a workspace with any status, oldest first, ties by provider.

        Raises:
            StoreUnavailable: connections cannot be read; that is not the same as none.
        """

    async def save_connection_keeping_created_at(self, connection: Connection) -> None:
        """Adds a connection, or replaces the one with this provider; ``created_at`` is kept."""

    async def mark_synced_unless_synced_later(
        self, workspace_id: UUID, provider: str, synced_at: datetime
    ) -> None:
        """Moves ``last_synced_at`` forward; a pending connection becomes connected.

        Does nothing if the connection is gone or was synced later.
        """

    async def remove_connection_if_present(self, workspace_id: UUID, provider: str) -> bool:
        """Deletes a connection; returns False if there is none."""
