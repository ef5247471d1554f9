"""An engine that answers nobody, told apart from a question that takes long.

A server that hangs keeps its sockets: nothing breaks, and nothing answers. One that works at a long
question takes another connection meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from service_core.plugin import QueryTimeout, StoreUnavailable

POLL_SECONDS: Final = 1.0
"""An engine is looked at when a question has waited for so long, and from then on as often."""


class EngineWatchdog:
    """Lets nobody wait for an engine that answers nobody.

    Args:
        answers: asks the engine for anything at all; False when it stayed silent.
    """

    def __init__(self, ping: Callable[[], bool]) -> None:
        self._ping = ping
        self._waits: set[asyncio.Timeout] = set()
        self._polling: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def fail_if_unresponsive(self, seconds: float | None) -> AsyncIterator[None]:
        """Wait in the block for an answer; None gives it all the time it takes.

        Raises:
            QueryTimeout: it took longer.
            StoreUnavailable: the engine answers nobody.
        """
        due = None if seconds is None else asyncio.get_running_loop().time() + seconds
        wait = asyncio.timeout_at(due)
        try:
            async with wait:
                self._waits.add(wait)
                self._polling = self._polling or asyncio.create_task(self._poll())
                yield
        except TimeoutError:
            raise (QueryTimeout if wait.when() == due else StoreUnavailable) from None
        finally:
            self._waits.discard(wait)

    async def _poll(self) -> None:
        """Until nobody waits any more, look whether the engine answers those who wait for long."""
        try:
            while before := frozenset(self._waits):
                await asyncio.sleep(POLL_SECONDS)
                if before & self._waits and not await asyncio.to_thread(self._ping):
                    self._expire_waits()
        finally:
            self._polling = None

    def _expire_waits(self) -> None:
        """Whoever waits, since when ever, waits in vain."""
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(now)
