"""Where connections are kept."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.analytics.connections.models import Connection


class Connections(Protocol):
    """The connections of every workspace, one per provider.

    Whoever talks to a provider saves what it learns: that it is connected, what accounts there are,
    when it was read, or what went wrong.
    """

    async def list_connections(self, workspace_id: UUID) -> list[Connection]:
        """Those of a workspace, whatever their health, oldest first, ties by provider.

        Raises:
            StoreUnavailable: they cannot be read; that is not the same as none.
        """

    async def save_connection(self, connection: Connection) -> None:
        """Add a connection, or replace that of the workspace with this provider; ``created_at`` stays."""

    async def mark_synced(self, workspace_id: UUID, provider: str, synced_at: datetime) -> None:
        """Move ``last_synced_at`` forward to ``at``; one that was pending is connected then.

        Nothing happens to a connection that is gone, or that was read after ``at``.
        """

    async def remove_connection(self, workspace_id: UUID, provider: str) -> bool:
        """Forget a connection; False when there is none."""
