"""Whose turn it is to write: transactions that name the same thing follow one another, others do not wait."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from sqlalchemy.exc import TimeoutError as OutOfTurn

from plugins.workspace_sql.patience import in_time
from plugins.workspace_sql.tickets import place_of

Name = UUID | str
"""What a transaction reads and then writes: a workspace, an account, a signup, an address."""


def places_of(names: Iterable[Name]) -> list[int]:
    """Names as numbers below those of tickets, in the one order in which everybody takes them."""
    return sorted({-1 - place_of(hashlib.sha256(str(name).encode()).hexdigest()) for name in names})


class Turns:
    """Queues in one process, so that of those who wait for a name one at a time waits at the server."""

    def __init__(self) -> None:
        self._queues: Final[WeakValueDictionary[int, asyncio.Lock]] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, places: Iterable[int]) -> AsyncIterator[None]:
        """Have the turn of every place in the block.

        Raises:
            sqlalchemy.exc.TimeoutError: it did not come in time.
        """
        async with AsyncExitStack() as held:
            try:
                async with in_time():
                    for place in places:
                        await held.enter_async_context(self._queues.setdefault(place, asyncio.Lock()))
            except TimeoutError:
                raise OutOfTurn("others wrote for too long") from None
            yield
