"""What share links need from outside: a count of the views of their pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ViewCount:
    """How often a page was looked at, and when last."""

    count: int
    last_viewed_at: datetime


class ShareLinkViews(Protocol):
    """Views of public pages, kept beside the links: looking at a page changes nothing of its link."""

    async def count_view(self, link_id: UUID, now: datetime) -> None:
        """Count one view of a link's page, whoever else counts at the same time."""

    async def get_view_counts(
        self, workspace_id: UUID, link_ids: Collection[UUID]
    ) -> Mapping[UUID, ViewCount]:
        """Views of the links of a workspace with these ids; one whose page nobody looked at is left out."""
