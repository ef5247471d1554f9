"""Offers several events to the queue, so that a failure of the queue is an outcome of each."""

from service_core.ingestion.models import ReceivedEvent
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue


async def offer_all_or_list_failures(
    queue: IngestQueue, arrivals: list[ReceivedEvent]
) -> list[EnqueueResult | EnqueueFailed]:
    """Returns the outcome of each event, in their order; a queue that takes none of them is the failure of all."""
    if not arrivals:
        return []
    try:
        return await queue.offer_all(arrivals)
    except EnqueueFailed as failure:
        return [failure] * len(arrivals)
