"""Ports for matched visits and recent clicks on links."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID


class MatchedVisits(Protocol):
    """Visits that were matched with an install, stored durably; each is matched once."""

    async def mark_visit_matched_unless_already(
        self, workspace_id: UUID, visit_key: str, now: datetime
    ) -> bool:
        """Marks a visit as matched; returns False if it already was."""

    async def select_matched_visits(self, workspace_id: UUID, visit_keys: Collection[str]) -> frozenset[str]:
        """Returns those of the visits that are matched."""


class RecentLinkClicks(Protocol):
    """Clicks on redirect links by IP address."""

    async def latest_human_click_by_tag(
        self, workspace_id: UUID, ip: str, since: datetime
    ) -> Mapping[str, datetime]:
        """Returns the tags of links clicked by a person from an IP address since an instant, with the latest click."""
