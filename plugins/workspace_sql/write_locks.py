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


def sorted_lock_ids(lock_keys: Iterable[LockKey]) -> list[int]:
    """Returns negative lock ids, so that no request lock is among them, in the order in which all transactions lock."""
    return sorted({-1 - lock_id(hashlib.sha256(str(name).encode()).hexdigest()) for name in lock_keys})


class KeyedLocks:
    """Locks of one process, so that of its transactions with the same lock id only one waits at the server."""

    def __init__(self) -> None:
        self._queues: Final[WeakValueDictionary[int, asyncio.Lock]] = WeakValueDictionary()

    @asynccontextmanager
    async def acquire(self, lock_ids: Iterable[int]) -> AsyncIterator[None]:
        """Holds all locks in the block, acquired in the given order before the deadline of the task.

        Raises:
            sqlalchemy.exc.TimeoutError: the deadline passed.
        """
        async with AsyncExitStack() as stack:
            try:
                async with timeout_at_deadline():
                    for id_ in lock_ids:
                        await stack.enter_async_context(self._queues.setdefault(id_, asyncio.Lock()))
            except TimeoutError:
                raise LockTimeout("other transactions wrote for too long") from None
            yield
