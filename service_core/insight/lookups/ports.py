"""What remembers which visit an install was matched with, and which links were clicked before it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID


class VisitClaims(Protocol):
    """Visits that were matched, durably; each is claimed once."""

    async def claim_visit(self, workspace_id: UUID, visit: str, now: datetime) -> bool:
        """Claim a visit; False when it was claimed before, by anybody."""

    async def claimed(self, workspace_id: UUID, visits: Collection[str]) -> frozenset[str]:
        """Those of the visits that are claimed."""


class TagClicks(Protocol):
    """Clicks on redirect links, by the address they came from."""

    async def clicked_tags(self, workspace_id: UUID, address: str, since: datetime) -> Mapping[str, datetime]:
        """Tags of links that a person at an address clicked since an instant -> the latest of these clicks."""
