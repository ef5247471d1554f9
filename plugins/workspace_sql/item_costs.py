"""Store of item costs."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.revenue_tables import ITEM_COSTS
from plugins.workspace_sql.row_history import save_rows_keeping_replaced
from service_core.plugin import ItemCost

_ROW = ITEM_COSTS.c


class SqlItemCosts(SqlStore):
    """Implements the port `ItemCostStore`."""

    async def save_or_replace_costs(
        self, workspace_id: UUID, import_id: UUID, costs: Sequence[ItemCost], imported_at: datetime
    ) -> None:
        """Adds or replaces the costs of an import in one transaction."""
        common = {"workspace_id": workspace_id, "import_id": import_id, "imported_at": imported_at}
        rows = [common | row_of(cost) for cost in costs]
        async with self._database.write(f"{ITEM_COSTS.name} {workspace_id}") as connection:
            await connection.run_sync(save_rows_keeping_replaced, ITEM_COSTS, rows, self._database.clock())

    async def list_costs(self, workspace_id: UUID) -> list[ItemCost]:
        """Returns every cost of a workspace, by item and day."""
        own = sa.select(ITEM_COSTS).where(_ROW.workspace_id == workspace_id)
        ordered = own.order_by(_ROW.known_by, _ROW.item, _ROW.effective_from)
        return await self._database.fetch_records(ItemCost, ordered)

    async def has_costs(self, workspace_id: UUID) -> bool:
        """Returns whether a workspace has any cost."""
        query = sa.select(_ROW.item).where(_ROW.workspace_id == workspace_id).limit(1)
        return bool(await self._database.fetch_rows(query))
