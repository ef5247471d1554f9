"""Tasks that come round: each is idempotent, so running one twice is harmless."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from hosts.waiting import waited

_log = structlog.get_logger("touchpoint.periodic")


async def every(seconds: float, task: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    """Run a task again and again until ``stop`` is set; a failure is logged and the next turn comes."""
    while await waited(stop, seconds):
        try:
            await task()
        except Exception:  # noqa: BLE001 - one failed turn must not end the others
            _log.exception("periodic task failed", task=getattr(task, "__qualname__", str(task)))
