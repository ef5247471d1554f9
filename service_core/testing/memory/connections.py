"""`Connections` and `ConnectionSecrets` in memory, which define the promises of the ports in readable code."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from service_core.analytics.connections.models import Connection, ConnectionStatus
from service_core.analytics.ports import StoreUnavailable


class MemoryConnections:
    """Implements the port `Connections`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._connections: dict[tuple[UUID, str], Connection] = {}
        self.down = False

    async def list_connections_oldest_first(self, workspace_id: UUID) -> list[Connection]:
        if self.down:
            raise StoreUnavailable
        own = [
            connection for connection in self._connections.values() if connection.workspace_id == workspace_id
        ]
        return sorted(own, key=lambda connection: (connection.created_at, connection.provider))

    async def save_connection_keeping_created_at(self, connection: Connection) -> None:
        key = connection.workspace_id, connection.provider
        previous = self._connections.get(key, connection)
        self._connections[key] = replace(connection, created_at=previous.created_at)

    async def mark_synced_unless_synced_later(
        self, workspace_id: UUID, provider: str, synced_at: datetime
    ) -> None:
        known = self._connections.get((workspace_id, provider))
        if known is None or (known.last_synced_at and known.last_synced_at >= synced_at):
            return
        status = ConnectionStatus.CONNECTED if known.status is ConnectionStatus.PENDING else known.status
        self._connections[workspace_id, provider] = replace(known, last_synced_at=synced_at, status=status)

    async def remove_connection_if_present(self, workspace_id: UUID, provider: str) -> bool:
        return self._connections.pop((workspace_id, provider), None) is not None


class MemorySecrets:
    """Implements the port `ConnectionSecrets` without encryption; while ``down`` they cannot be read."""

    def __init__(self) -> None:
        self._secrets: dict[tuple[UUID, str], Mapping[str, str]] = {}
        self.down = False

    async def find_secrets(self, workspace_id: UUID, provider: str) -> Mapping[str, str] | None:
        if self.down:
            raise StoreUnavailable
        return self._secrets.get((workspace_id, provider))

    async def list_connections_with_secrets(self) -> list[tuple[UUID, str]]:
        if self.down:
            raise StoreUnavailable
        return sorted(self._secrets)

    async def replace_or_delete_secrets(
        self, workspace_id: UUID, provider: str, secrets: Mapping[str, str]
    ) -> None:
        if secrets:
            self._secrets[workspace_id, provider] = dict(secrets)
        else:
            self._secrets.pop((workspace_id, provider), None)
