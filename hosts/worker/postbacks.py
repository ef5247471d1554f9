"""Sends postbacks in the background, one task per ad account."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hosts.shutdown_sleep import sleep_unless_stopped

if TYPE_CHECKING:
    from service_core.delivery.postbacks.delivery_worker import DeliveryWorker
    from service_core.delivery.postbacks.postback import PostbackQueue

POLL_SECONDS: Final = 5
MAX_CONCURRENT: Final = 32
"""Accounts that are sent to at the same time."""
DRAIN_TIMEOUT_SECONDS: Final = 20
"""How long calls that are under way may take to end when the process is told to stop."""

_log: Final = logging.getLogger("touchpoint.postbacks")


async def send_due_postbacks_until_stopped(delivery: "DeliveryWorker", stop: asyncio.Event) -> None:
    """Sends what is due to each account, until ``stop`` is set."""
    busy: dict[PostbackQueue, asyncio.Task[None]] = {}
    free = asyncio.Semaphore(MAX_CONCURRENT)
    try:
        while await sleep_unless_stopped(stop, POLL_SECONDS):
            busy = {queue: task for queue, task in busy.items() if not task.done()}
            for queue in await _due_queues_or_log_error(delivery):
                if queue not in busy:
                    busy[queue] = asyncio.create_task(
                        _deliver_queue_or_log_error(delivery, queue, free, stop)
                    )
        if busy:
            await asyncio.wait(busy.values(), timeout=DRAIN_TIMEOUT_SECONDS)
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)


async def _due_queues_or_log_error(delivery: "DeliveryWorker") -> "Sequence[PostbackQueue]":
    try:
        return await delivery.list_due_queues()
    except Exception:  # noqa: BLE001 - the next look comes
        _log.exception("it is not known which conversions to send")
        return ()


async def _deliver_queue_or_log_error(
    delivery: "DeliveryWorker",
    queue: "PostbackQueue",
    concurrency_limit: asyncio.Semaphore,
    stop: asyncio.Event,
) -> None:
    """Sends what is due to one account; errors are logged."""
    async with concurrency_limit:
        try:
            if not stop.is_set():
                await delivery.deliver_queue_unless_leased(queue, stop.is_set)
        except Exception:  # noqa: BLE001 - what ails one account ends no other
            _log.exception("conversions of workspace %s to %s were not sent", *queue[:2])
