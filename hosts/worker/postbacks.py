"""Sending conversions beside everything else: each account for itself, none waits for another."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hosts.waiting import waited

if TYPE_CHECKING:
    from service_core.delivery.postbacks.delivering import PostbackDelivery
    from service_core.delivery.postbacks.postback import PostbackQueue

LOOK_SECONDS: Final = 5
TOGETHER: Final = 32
"""Accounts that are sent to at the same time."""
DRAIN_SECONDS: Final = 20
"""How long calls that are under way may take to end when the process is told to stop."""

_log: Final = logging.getLogger("touchpoint.postbacks")


async def send_postbacks(delivery: "PostbackDelivery", stop: asyncio.Event) -> None:
    """Look again and again which accounts have something to be sent, and send it, until ``stop`` is set."""
    busy: dict[PostbackQueue, asyncio.Task[None]] = {}
    free = asyncio.Semaphore(TOGETHER)
    try:
        while await waited(stop, LOOK_SECONDS):
            busy = {queue: task for queue, task in busy.items() if not task.done()}
            for queue in await _due(delivery):
                if queue not in busy:
                    busy[queue] = asyncio.create_task(_deliver(delivery, queue, free, stop))
        if busy:
            await asyncio.wait(busy.values(), timeout=DRAIN_SECONDS)
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)


async def _due(delivery: "PostbackDelivery") -> "Sequence[PostbackQueue]":
    try:
        return await delivery.due()
    except Exception:  # noqa: BLE001 - the next look comes
        _log.exception("it is not known which conversions to send")
        return ()


async def _deliver(
    delivery: "PostbackDelivery", queue: "PostbackQueue", free: asyncio.Semaphore, stop: asyncio.Event
) -> None:
    """Send to one account; what goes wrong is logged, and the next look comes."""
    async with free:
        try:
            if not stop.is_set():
                await delivery.deliver(queue, stop.is_set)
        except Exception:  # noqa: BLE001 - what ails one account ends no other
            _log.exception("conversions of workspace %s to %s were not sent", *queue[:2])
