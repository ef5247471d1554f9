"""Clicks on their way into the book: many share a commit, and a redirect hardly waits for it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from service_core.kernel.sharing import Shared
from service_core.workspace.links.clicks import Click
from service_core.workspace.links.ports import Clicks

PATIENCE_SECONDS: Final = 0.01
"""How long a redirect waits for its click to be durable; then it leaves, and the click follows."""

AT_ONCE: Final = 256
BOUND: Final = 20_000
"""Clicks that wait while the store is away; later ones are not kept."""

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0

_log = logging.getLogger("touchpoint.clicks")


class Recorder:
    """Records clicks; a redirect never fails because its click cannot be kept.

    While the store is away the same clicks are tried again. A click knows its id, so one that was
    kept before its answer was lost counts once.

    Args:
        book: where clicks are kept.
    """

    def __init__(self, book: Clicks) -> None:
        self._book = book
        self._shared: Shared[Click, None] = Shared(self._keep, lambda fault: fault, AT_ONCE)
        self._closing = asyncio.Event()
        self._dropped = 0

    async def record(self, click: Click) -> None:
        """Record a click; returns when it is durable, or when that takes too long to wait for."""
        if len(self._shared) >= BOUND:
            self._dropped += 1
            return
        await asyncio.wait({self._shared.ask(click)}, timeout=PATIENCE_SECONDS)

    async def aclose(self) -> None:
        """Make durable what is under way, as far as the store answers."""
        self._closing.set()
        await self._shared.settled()

    async def _keep(self, clicks: Sequence[Click]) -> Sequence[None]:
        pause = FIRST_PAUSE_SECONDS
        while not await self._kept(clicks, pause):
            if self._closing.is_set():
                _log.error("clicks were not kept", extra={"clicks": len(clicks)})
                break
            await self._rest(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return [None] * len(clicks)

    async def _kept(self, clicks: Sequence[Click], pause: float) -> bool:
        try:
            await self._book.record_clicks(clicks)
        except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
            _log.exception(
                "clicks wait for their store", extra={"fault": type(fault).__name__, "pause": pause}
            )
            return False
        if self._dropped:
            _log.error("clicks were not kept while their store was away", extra={"clicks": self._dropped})
            self._dropped = 0
        return True

    async def _rest(self, seconds: float) -> None:
        """Wait, but not while the process is told to stop."""
        closing = asyncio.ensure_future(self._closing.wait())
        await asyncio.wait({closing}, timeout=seconds)
        closing.cancel()
