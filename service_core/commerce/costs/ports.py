"""The store of item costs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.commerce.costs.models import ItemCost


class ItemCostStore(Protocol):
    """Costs of items of every workspace, by their first day."""

    async def save_or_replace_costs(
        self, workspace_id: UUID, import_id: UUID, costs: Sequence[ItemCost], imported_at: datetime
    ) -> None:
        """Saves all costs or none; a cost replaces that of the same item and day."""

    async def list_costs(self, workspace_id: UUID) -> Sequence[ItemCost]:
        """Returns every cost of a workspace, by item and day.

        Raises:
            StoreUnavailable: they cannot be read; that is not the same as none.
        """

    async def has_costs(self, workspace_id: UUID) -> bool:
        """Whether any cost of a workspace is known.

        Raises:
            StoreUnavailable: they cannot be read.
        """
