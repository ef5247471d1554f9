"""What a workspace says of itself because of its records, in SQL."""

from collections.abc import Collection
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.change_counter import request_increment
from plugins.workspace_sql.sqlalchemy_asyncio import AsyncConnection
from plugins.workspace_sql.tables import WORKSPACES


class SqlOwner:
    """Implements the port `Owner` in one transaction."""

    def __init__(self, connection: AsyncConnection, workspace_id: UUID) -> None:
        self._connection = connection
        self._own = WORKSPACES.c.id == workspace_id

    async def set_triggers(self, names: Collection[str]) -> None:
        """Write them to the workspace, when they are others than before."""
        before = await self._connection.execute(sa.select(WORKSPACES.c.triggers).where(self._own))
        after = sorted(names)
        if before.scalar_one() != after:
            await self._connection.execute(sa.update(WORKSPACES).where(self._own).values(triggers=after))
            request_increment(self._connection)
