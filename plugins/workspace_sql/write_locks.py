"""Locks of write transactions in one process: those with the same lock key run one after the other."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from sqlalchemy.exc import TimeoutError as LockTimeout

from plugins.workspace_sql.deadline import timeout_at_deadline
from plugins.workspace_sql.request_locks import lock_id

LockKey = UUID | str
"""Id or name of what a transaction reads and then writes, such as a workspace or an e-mail address."""


def lock_ids(names: Iterable[LockKey]) -> list[int]:
    """Names as numbers below those of tickets, in the one order in which everybody takes them."""
    return sorted({-1 - lock_id(hashlib.sha256(str(name).encode()).hexdigest()) for name in names})


class KeyedLocks:
    """Queues in one process, so that of those who wait for a name one at a time waits at the server."""

    def __init__(self) -> None:
        self._queues: Final[WeakValueDictionary[int, asyncio.Lock]] = WeakValueDictionary()

    @asynccontextmanager
    async def acquire(self, lock_ids: Iterable[int]) -> AsyncIterator[None]:
        """Have the turn of every place in the block.

        Raises:
            sqlalchemy.exc.TimeoutError: it did not come in time.
        """
        async with AsyncExitStack() as held:
            try:
                async with timeout_at_deadline():
                    for place in lock_ids:
                        await held.enter_async_context(self._queues.setdefault(place, asyncio.Lock()))
            except TimeoutError:
                raise LockTimeout("others wrote for too long") from None
            yield
