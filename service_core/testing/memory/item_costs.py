"""`ItemCostStore` in memory, which defines the promises of the port in readable code."""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.costs.models import ItemCost, ItemIdType


class MemoryCosts:
    """Implements the port `ItemCostStore`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._costs: dict[tuple[UUID, ItemIdType, str, date], ItemCost] = {}
        self.down = False

    async def save_or_replace_costs(
        self,
        workspace_id: UUID,
        import_id: UUID,  # noqa: ARG002 - stores keep it for operators only
        costs: Sequence[ItemCost],
        imported_at: datetime,  # noqa: ARG002 - likewise
    ) -> None:
        for cost in costs:
            self._costs[workspace_id, cost.known_by, cost.item, cost.effective_from] = cost

    async def list_costs(self, workspace_id: UUID) -> list[ItemCost]:
        self._raise_if_down()
        return [cost for key, cost in sorted(self._costs.items()) if key[0] == workspace_id]

    async def has_costs(self, workspace_id: UUID) -> bool:
        return bool(await self.list_costs(workspace_id))

    def _raise_if_down(self) -> None:
        if self.down:
            raise StoreUnavailable
