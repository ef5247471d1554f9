"""Fails requests when the engine stops responding, as opposed to a statement that takes long.

A server that hangs keeps its sockets open without answering. A server that runs a long statement still
accepts another connection.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from service_core.plugin import QueryTimeout, StoreUnavailable

POLL_SECONDS: Final = 1.0
"""The engine is pinged when a request has waited this long, and at this interval from then on."""


class EngineWatchdog:
    """Fails waiting requests when the engine does not respond.

    Args:
        ping: returns False when the engine does not respond.
    """

    def __init__(self, ping: Callable[[], bool]) -> None:
        self._ping = ping
        self._waits: set[asyncio.Timeout] = set()
        self._polling: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def fail_if_unresponsive(self, time_limit_seconds: float | None) -> AsyncIterator[None]:
        """Waits for the engine inside the block; None means no time limit.

        Raises:
            QueryTimeout: the block took longer than ``seconds``.
            StoreUnavailable: the engine does not respond.
        """
        due = None if time_limit_seconds is None else asyncio.get_running_loop().time() + time_limit_seconds
        wait = asyncio.timeout_at(due)
        try:
            async with wait:
                self._waits.add(wait)
                self._polling = self._polling or asyncio.create_task(self._ping_while_requests_wait())
                yield
        except TimeoutError:
            raise (QueryTimeout if wait.when() == due else StoreUnavailable) from None
        finally:
            self._waits.discard(wait)

    async def _ping_while_requests_wait(self) -> None:
        """Pings the engine at intervals while requests wait."""
        try:
            while before := frozenset(self._waits):
                await asyncio.sleep(POLL_SECONDS)
                if before & self._waits and not await asyncio.to_thread(self._ping):
                    self._end_all_waits()
        finally:
            self._polling = None

    def _end_all_waits(self) -> None:
        """Ends the wait of all requests."""
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(now)
