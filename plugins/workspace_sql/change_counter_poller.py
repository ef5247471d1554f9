"""The change counter of a directory that many machines share, asked for four times a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

POLL_SECONDS: Final = 0.25
MAX_AGE_SECONDS: Final = 5.0
"""For so long after it was last read the counter is believed."""


class PolledChangeCounter:
    """Knows the counter without waiting, at most `POLL_SECONDS` and one answer late.

    When it could not be read for `MAX_AGE_SECONDS`, it is not known: whatever was remembered of keys
    may be old then, until the database answers again.

    Args:
        ask: reads the counter, or fails before long.
    """

    def __init__(self, ask: Callable[[], Awaitable[int]]) -> None:
        self._ask = ask
        self._value = 0
        self._asked_at = -MAX_AGE_SECONDS
        self._polling: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Read it once, and from then on again and again."""
        await self._refresh()
        self._polling = asyncio.create_task(self._poll())

    async def aclose(self) -> None:
        """Stop asking."""
        self._closing = True  # the driver may answer a cancellation with a fault of its own
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait([self._polling])

    def current(self) -> int | None:
        """The counter; None while it is not known."""
        return None if time.monotonic() - self._asked_at > MAX_AGE_SECONDS else self._value

    def set_at_least(self, value: int) -> None:
        """This process has just raised the counter: what was asked before is answered too late."""
        if value > self._value:
            self._value, self._asked_at = value, time.monotonic()

    async def _refresh(self) -> None:
        asked_at = time.monotonic()
        value = await self._ask()
        if asked_at >= self._asked_at:
            self._value, self._asked_at = value, asked_at

    async def _poll(self) -> None:
        while not self._closing:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._refresh()
            except (SQLAlchemyError, OSError):
                continue  # `now` tells how long it has not been answered
