"""An engine that answers nobody, told apart from a question that takes long.

A server that hangs keeps its sockets: nothing breaks, and nothing answers. One that works at a long
question takes another connection meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from service_core.plugin import QueryTimeout, StoreUnavailable

PAUSE_SECONDS: Final = 1.0
"""An engine is looked at when a question has waited for so long, and from then on as often."""


class Watch:
    """Lets nobody wait for an engine that answers nobody.

    Args:
        answers: asks the engine for anything at all; False when it stayed silent.
    """

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._waits: set[asyncio.Timeout] = set()
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def within(self, seconds: float | None) -> AsyncIterator[None]:
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
                self._looking = self._looking or asyncio.create_task(self._look())
                yield
        except TimeoutError:
            raise (QueryTimeout if wait.when() == due else StoreUnavailable) from None
        finally:
            self._waits.discard(wait)

    async def _look(self) -> None:
        """Until nobody waits any more, look whether the engine answers those who wait for long."""
        try:
            while before := frozenset(self._waits):
                await asyncio.sleep(PAUSE_SECONDS)
                if before & self._waits and not await asyncio.to_thread(self._answers):
                    self._end()
        finally:
            self._looking = None

    def _end(self) -> None:
        """Whoever waits, since when ever, waits in vain."""
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(now)
