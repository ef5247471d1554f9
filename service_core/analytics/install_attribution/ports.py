"""What remembers which visit an install was matched with, and which links were clicked before it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID


class MatchedVisits(Protocol):
    """Visits that were matched, durably; each is claimed once."""

    async def mark_visit_matched(self, workspace_id: UUID, visit: str, now: datetime) -> bool:
        """Claim a visit; False when it was claimed before, by anybody."""

    async def list_matched(self, workspace_id: UUID, visits: Collection[str]) -> frozenset[str]:
        """Those of the visits that are claimed."""


class RecentLinkClicks(Protocol):
    """Clicks on redirect links, by the address they came from."""

    async def latest_click_by_tag(
        self, workspace_id: UUID, ip: str, since: datetime
    ) -> Mapping[str, datetime]:
        """Tags of links that a person at an address clicked since an instant -> the latest of these clicks."""
