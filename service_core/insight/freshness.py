"""How far events are believed present, and whether that covers an answer (semantics 19.1, 19.2)."""

from datetime import datetime, timedelta
from typing import Final, Protocol

from service_core.intake.ports import QueueState
from service_core.kernel.ranges import Range

GRACE: Final = timedelta(minutes=5)
"""A queue whose oldest event is younger than this is up to date."""


class Queue(Protocol):
    """As much of the ingest queue as tells how far events are present."""

    async def state(self) -> QueueState:
        """What waits."""


async def data_through(queue: Queue, now: datetime) -> datetime:
    """The watermark of events: now, or the receipt time of the oldest event that waits too long."""
    oldest = (await queue.state()).oldest_received_at
    return now if oldest is None or now - oldest < GRACE else oldest


async def is_complete(queue: Queue, asked: Range) -> bool:
    """Whether every event of the range, up to now, is believed present."""
    return min(asked.span.end, asked.now) <= await data_through(queue, asked.now)
