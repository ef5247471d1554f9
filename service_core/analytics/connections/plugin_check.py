"""Shows connections whose plugin is not installed as failed: nothing is read from their providers any more."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from service_core.analytics.connections.models import Connection, ConnectionStatus
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders


@dataclass(frozen=True, slots=True)
class PluginCheckedConnections:
    """The stored connections, each with status ``error`` while it is connected and no plugin brings its provider.

    Every read that would have used the provider then treats it like one that cannot be read. What is stored stays: with
    the plugin back, the connection works again.

    Attributes:
        stored: the connections as they are stored.
        providers: what is installed.
    """

    stored: Connections
    providers: InstalledProviders

    async def list_connections_oldest_first(self, workspace_id: UUID) -> list[Connection]:
        """Returns the connections of a workspace, those without a plugin as failed."""
        return [
            self._failed_without_plugin(connection)
            for connection in await self.stored.list_connections_oldest_first(workspace_id)
        ]

    async def save_connection_keeping_created_at(self, connection: Connection) -> None:
        """Adds a connection, or replaces the one with this provider."""
        await self.stored.save_connection_keeping_created_at(connection)

    async def mark_synced_unless_synced_later(
        self, workspace_id: UUID, provider: str, synced_at: datetime
    ) -> None:
        """Moves ``last_synced_at`` forward."""
        await self.stored.mark_synced_unless_synced_later(workspace_id, provider, synced_at)

    async def remove_connection_if_present(self, workspace_id: UUID, provider: str) -> bool:
        """Deletes a connection; returns False if there is none."""
        return await self.stored.remove_connection_if_present(workspace_id, provider)

    def _failed_without_plugin(self, connection: Connection) -> Connection:
        if not connection.is_connected or connection.provider in self.providers.by_id:
            return connection
        return replace(
            connection,
            status=ConnectionStatus.ERROR,
            error=f"No installed plugin brings {connection.provider}. Install its plugin, or remove the connection.",
        )
