"""What remembers which visit an install was matched with."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol
from uuid import UUID


class VisitClaims(Protocol):
    """Visits that were matched, durably; each is claimed once."""

    async def claim_visit(self, workspace_id: UUID, visit: str, now: datetime) -> bool:
        """Claim a visit; False when it was claimed before, by anybody."""

    async def claimed(self, workspace_id: UUID, visits: Collection[str]) -> frozenset[str]:
        """Those of the visits that are claimed."""
