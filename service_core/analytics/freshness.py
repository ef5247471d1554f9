"""Up to when events are complete, and whether that covers a range."""

from datetime import datetime, timedelta
from typing import Final, Protocol

from service_core.ingestion.ports import QueueState
from service_core.kernel.time_ranges import ResolvedRange

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


async def is_range_complete(queue: QueueStateReader, date_range: ResolvedRange) -> bool:
    """Whether all events of the range, up to now, are processed."""
    return min(date_range.span.end, date_range.now) <= await get_events_complete_through(
        queue, date_range.now
    )
