"""`Connections` in memory: the readable statement of what its store promises."""

from dataclasses import replace
from uuid import UUID

from service_core.insight.connections.model import Connection
from service_core.insight.ports import StoreUnavailable


class MemoryConnections:
    """Implements the port `Connections`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._kept: dict[tuple[UUID, str], Connection] = {}
        self.down = False

    async def connections(self, workspace_id: UUID) -> list[Connection]:
        if self.down:
            raise StoreUnavailable
        own = [one for one in self._kept.values() if one.workspace_id == workspace_id]
        return sorted(own, key=lambda one: (one.created_at, one.provider))

    async def save_connection(self, connection: Connection) -> None:
        place = connection.workspace_id, connection.provider
        before = self._kept.get(place, connection)
        self._kept[place] = replace(connection, created_at=before.created_at)

    async def remove_connection(self, workspace_id: UUID, provider: str) -> bool:
        return self._kept.pop((workspace_id, provider), None) is not None
