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
        self._kept: dict[tuple[UUID, str], Connection] = {}
        self.down = False

    async def list_connections(self, workspace_id: UUID) -> list[Connection]:
        if self.down:
            raise StoreUnavailable
        own = [connection for connection in self._kept.values() if connection.workspace_id == workspace_id]
        return sorted(own, key=lambda connection: (connection.created_at, connection.provider))

    async def save_connection(self, connection: Connection) -> None:
        key = connection.workspace_id, connection.provider
        previous = self._kept.get(key, connection)
        self._kept[key] = replace(connection, created_at=previous.created_at)

    async def mark_synced(self, workspace_id: UUID, provider: str, synced_at: datetime) -> None:
        known = self._kept.get((workspace_id, provider))
        if known is None or (known.last_synced_at and known.last_synced_at >= synced_at):
            return
        status = ConnectionStatus.CONNECTED if known.status is ConnectionStatus.PENDING else known.status
        self._kept[workspace_id, provider] = replace(known, last_synced_at=synced_at, status=status)

    async def remove_connection(self, workspace_id: UUID, provider: str) -> bool:
        return self._kept.pop((workspace_id, provider), None) is not None


class MemorySecrets:
    """Implements the port `ConnectionSecrets` without encryption; while ``down`` they cannot be read."""

    def __init__(self) -> None:
        self._kept: dict[tuple[UUID, str], Mapping[str, str]] = {}
        self.down = False

    async def secrets(self, workspace_id: UUID, provider: str) -> Mapping[str, str] | None:
        if self.down:
            raise StoreUnavailable
        return self._kept.get((workspace_id, provider))

    async def connections_with_secrets(self) -> list[tuple[UUID, str]]:
        if self.down:
            raise StoreUnavailable
        return sorted(self._kept)

    async def save_secrets(self, workspace_id: UUID, provider: str, secrets: Mapping[str, str]) -> None:
        if secrets:
            self._kept[workspace_id, provider] = dict(secrets)
        else:
            self._kept.pop((workspace_id, provider), None)
