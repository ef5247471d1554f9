"""Up to when events are complete, and whether that covers a range."""

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service_core.access.models import Workspace
from service_core.analytics.ports import StoreUnavailable
from service_core.ingestion.lru_cache import LruCache
from service_core.ingestion.ports import QueueState, TransformGaps
from service_core.kernel.time_ranges import ResolvedRange, TimeRange

_CACHED_SECONDS: Final = 10.0
_MAX_CACHED_WORKSPACES: Final = 10_000
_HOUR: Final = timedelta(hours=1)

MAX_QUEUE_DELAY: Final = timedelta(minutes=5)
"""A queue is up to date if its oldest event is younger."""


class QueueStateReader(Protocol):
    """Reads the state of the ingest queue."""

    async def state(self) -> QueueState:
        """Returns the number of waiting events and the age of the oldest."""


async def get_events_complete_through(queue: QueueStateReader, now: datetime) -> datetime:
    """Returns the time up to which events are complete: now, or the receipt time of the oldest overdue event."""
    oldest = (await queue.state()).oldest_received_at
    return now if oldest is None or now - oldest < MAX_QUEUE_DELAY else oldest


class CachedGapHours:
    """Reads the hours over which a transform failed; cached for 10 seconds per workspace.

    Args:
        gaps: where they are stored.
    """

    def __init__(self, gaps: TransformGaps) -> None:
        self._gaps = gaps
        self._hours: LruCache[UUID, tuple[float, Sequence[datetime]]] = LruCache(_MAX_CACHED_WORKSPACES)

    async def list_gap_hours_or_none_if_unreadable(self, workspace_id: UUID) -> Sequence[datetime] | None:
        """Returns the starts of the hours of a workspace, in order, each once; None if they cannot be read."""
        cached = self._hours.get(workspace_id)
        if cached is not None and time.monotonic() - cached[0] < _CACHED_SECONDS:
            return cached[1]
        try:
            hours = await self._gaps.list_gap_hours(workspace_id)
        except StoreUnavailable:
            return None
        self._hours.put(workspace_id, (time.monotonic(), hours))
        return hours


@dataclass(frozen=True, slots=True)
class EventFreshness:
    """Tells whether all events of a range are stored, each as its transforms leave it.

    Attributes:
        queue: the ingest queue.
        gaps: the hours over which a transform failed; None where there are no transforms.
    """

    queue: QueueStateReader
    gaps: CachedGapHours | None = None

    async def is_range_complete(self, workspace: Workspace, date_range: ResolvedRange) -> bool:
        """Returns whether all events of the range, up to now, are processed, and none without a transform."""
        through = await get_events_complete_through(self.queue, date_range.now)
        if min(date_range.span.end, date_range.now) > through:
            return False
        if self.gaps is None:
            return True
        gap_hours = await self.gaps.list_gap_hours_or_none_if_unreadable(workspace.id)
        return not may_overlap_gap_hour(gap_hours, date_range.span)


def may_overlap_gap_hour(gap_hours: Sequence[datetime] | None, span: TimeRange) -> bool:
    """Returns whether one of some hours, in order, overlaps a time span; true for None, where the hours are unknown."""
    if gap_hours is None:
        return True
    first = bisect_right(gap_hours, span.start - _HOUR)
    return first < len(gap_hours) and gap_hours[first] < span.end
