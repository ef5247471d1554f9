"""The change counter of a database that several machines share, polled four times a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

POLL_SECONDS: Final = 0.25
MAX_AGE_SECONDS: Final = 5.0
"""How long a value of the counter is valid after it was read."""


class PolledChangeCounter:
    """Returns the counter without waiting; the value is at most `POLL_SECONDS` and one query old.

    If it could not be read for `MAX_AGE_SECONDS`, it is unknown: cached keys may then be stale until the database
    answers again.

    Args:
        read_counter: reads the counter; raises after a short timeout.
    """

    def __init__(self, read_counter: Callable[[], Awaitable[int]]) -> None:
        self._read_counter = read_counter
        self._value = 0
        self._read_at = -MAX_AGE_SECONDS
        self._polling: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> None:
        """Reads the counter once, and starts to poll it."""
        await self._refresh()
        self._polling = asyncio.create_task(self._poll_every_250_milliseconds())

    async def aclose(self) -> None:
        """Stops polling."""
        self._closing = True  # the driver may raise its own error on cancellation
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait([self._polling])

    def current_unless_older_than_5_seconds(self) -> int | None:
        """Returns the counter; None if it is older than `MAX_AGE_SECONDS`."""
        return None if time.monotonic() - self._read_at > MAX_AGE_SECONDS else self._value

    def set_at_least(self, value: int) -> None:
        """Sets the counter to a value that this process has committed, unless it is higher already."""
        if value > self._value:
            self._value, self._read_at = value, time.monotonic()

    async def _refresh(self) -> None:
        started_at = time.monotonic()
        value = await self._read_counter()
        if started_at >= self._read_at:
            self._value, self._read_at = value, started_at

    async def _poll_every_250_milliseconds(self) -> None:
        while not self._closing:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._refresh()
            except (SQLAlchemyError, OSError):
                continue  # `current` checks the age of the value
