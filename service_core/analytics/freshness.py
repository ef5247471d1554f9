"""How far events are believed present, and whether that covers an answer (semantics 19.1, 19.2)."""

from datetime import datetime, timedelta
from typing import Final, Protocol

from service_core.ingestion.ports import QueueState
from service_core.kernel.time_ranges import ResolvedRange

MAX_QUEUE_DELAY: Final = timedelta(minutes=5)
"""A queue whose oldest event is younger than this is up to date."""


class QueueStateReader(Protocol):
    """As much of the ingest queue as tells how far events are present."""

    async def state(self) -> QueueState:
        """What waits."""


async def get_events_complete_through(queue: QueueStateReader, now: datetime) -> datetime:
    """The watermark of events: now, or the receipt time of the oldest event that waits too long."""
    oldest = (await queue.state()).oldest_received_at
    return now if oldest is None or now - oldest < MAX_QUEUE_DELAY else oldest


async def is_range_complete(queue: QueueStateReader, date_range: ResolvedRange) -> bool:
    """Whether every event of the range, up to now, is believed present."""
    return min(date_range.span.end, date_range.now) <= await get_events_complete_through(
        queue, date_range.now
    )
