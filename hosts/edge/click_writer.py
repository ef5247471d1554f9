"""Writes clicks in batches; a redirect waits for its click for a few milliseconds at most."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from service_core.kernel.call_batching import CallBatcher
from service_core.workspace.links.clicks import Click
from service_core.workspace.links.ports import ClickStore

MAX_WAIT_SECONDS: Final = 0.01
"""How long a redirect waits for its click to be durable; then it leaves, and the click follows."""

BATCH_SIZE: Final = 256
MAX_QUEUED: Final = 20_000
"""Clicks that wait while the store is away; later ones are not kept."""

INITIAL_BACKOFF_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 5.0

_log = logging.getLogger("touchpoint.clicks")


class ClickWriter:
    """Writes clicks to the store; a redirect never fails because its click cannot be stored.

    While the store is away the same clicks are tried again. A click knows its id, so one that was
    kept before its answer was lost counts once.

    Args:
        clicks: where clicks are kept.
    """

    def __init__(self, clicks: ClickStore) -> None:
        self._click_store = clicks
        self._shared: CallBatcher[Click, None] = CallBatcher(
            self._write_with_retries_until_closed, lambda fault: fault, BATCH_SIZE
        )
        self._closing = asyncio.Event()
        self._dropped = 0

    async def submit_unless_full_and_wait_briefly(self, click: Click) -> None:
        """Writes a click; returns when it is durable, or after `MAX_WAIT_SECONDS`."""
        if len(self._shared) >= MAX_QUEUED:
            self._dropped += 1
            return
        await asyncio.wait({self._shared.submit_for_next_batch(click)}, timeout=MAX_WAIT_SECONDS)

    async def aclose(self) -> None:
        """Writes what is pending, as far as the store answers."""
        self._closing.set()
        await self._shared.wait_idle()

    async def _write_with_retries_until_closed(self, clicks: Sequence[Click]) -> Sequence[None]:
        pause = INITIAL_BACKOFF_SECONDS
        while not await self._try_write_and_log_failure(clicks, pause):
            if self._closing.is_set():
                _log.error("clicks were not kept", extra={"clicks": len(clicks)})
                break
            await self._sleep_unless_closing(pause)
            pause = min(2 * pause, MAX_BACKOFF_SECONDS)
        return [None] * len(clicks)

    async def _try_write_and_log_failure(self, clicks: Sequence[Click], next_pause: float) -> bool:
        try:
            await self._click_store.record_clicks(clicks)
        except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
            _log.exception(
                "clicks wait for their store", extra={"fault": type(fault).__name__, "pause": next_pause}
            )
            return False
        if self._dropped:
            _log.error("clicks were not kept while their store was away", extra={"clicks": self._dropped})
            self._dropped = 0
        return True

    async def _sleep_unless_closing(self, seconds: float) -> None:
        """Sleeps unless the writer is being closed."""
        closing = asyncio.ensure_future(self._closing.wait())
        await asyncio.wait({closing}, timeout=seconds)
        closing.cancel()
