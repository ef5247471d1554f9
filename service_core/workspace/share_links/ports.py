"""Port to the view counts of public pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ViewCount:
    """Number of views of a page, and time of the last one."""

    count: int
    last_viewed_at: datetime


class ShareLinkViews(Protocol):
    """Stores view counts of public pages; a view does not change the link."""

    async def count_view(self, link_id: UUID, now: datetime) -> None:
        """Counts one view of a link's page; concurrent calls are all counted."""

    async def get_view_counts(
        self, workspace_id: UUID, link_ids: Collection[UUID]
    ) -> Mapping[UUID, ViewCount]:
        """Returns the counts of links of a workspace by link id, without links that have no views."""
