"""What items cost, in SQL."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.cost_tables import ITEM_COSTS
from plugins.workspace_sql.database import Database, insert_into
from service_core.plugin import ItemCost, ItemIdType

_KEYS: Final = tuple(column.name for column in ITEM_COSTS.primary_key)
_TOLD: Final = ("known_by", "item", "effective_from", "unit_cost", "handling_cost", "currency")


class SqlCosts:
    """Implements the port `ItemCostStore`."""

    _database: Database

    async def save_costs(
        self, workspace_id: UUID, import_id: UUID, costs: Sequence[ItemCost], imported_at: datetime
    ) -> None:
        """Keep an import in one transaction."""
        told = {"workspace_id": workspace_id, "import_id": import_id, "imported_at": imported_at}
        rows = [told | asdict(cost) | {"known_by": cost.known_by.value} for cost in costs]
        async with self._database.write(f"{ITEM_COSTS.name} {workspace_id}") as connection:
            insert = await connection.run_sync(lambda one: insert_into(one, ITEM_COSTS))
            changed = {c.name: insert.excluded[c.name] for c in ITEM_COSTS.columns if c.name not in _KEYS}
            await connection.execute(insert.on_conflict_do_update(index_elements=_KEYS, set_=changed), rows)

    async def costs(self, workspace_id: UUID) -> list[ItemCost]:
        """Every cost of a workspace."""
        column = ITEM_COSTS.c
        query = (
            sa.select(*(column[name] for name in _TOLD))
            .where(column.workspace_id == workspace_id)
            .order_by(column.known_by, column.item, column.effective_from)
        )
        async with self._database.read() as connection:
            return [
                ItemCost(ItemIdType(known_by), *row) for known_by, *row in await connection.execute(query)
            ]

    async def has_costs(self, workspace_id: UUID) -> bool:
        """Whether there is any."""
        query = sa.select(ITEM_COSTS.c.item).where(ITEM_COSTS.c.workspace_id == workspace_id).limit(1)
        async with self._database.read() as connection:
            return (await connection.execute(query)).first() is not None
