"""Periodic tasks; each is idempotent, so running one twice is harmless."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hosts.shutdown_sleep import sleep_unless_stopped

_log = logging.getLogger("touchpoint.periodic")


async def run_periodically_until_stopped(
    interval_seconds: float, task: Callable[[], Awaitable[None]], stop: asyncio.Event
) -> None:
    """Runs a task at an interval until ``stop`` is set; failures are logged."""
    while await sleep_unless_stopped(stop, interval_seconds):
        try:
            await task()
        except Exception:  # noqa: BLE001 - one failed turn must not end the others
            _log.exception("periodic task failed", extra={"work": getattr(task, "__qualname__", str(task))})
