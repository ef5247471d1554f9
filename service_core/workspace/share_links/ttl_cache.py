"""A cache with a time to live that computes each value once for concurrent callers."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from service_core.kernel.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

CAPACITY: Final = 500


class TtlCache(Generic[K, V]):
    """Caches the last values; concurrent callers of one key wait for one computation.

    A computation that fails is not cached. One whose callers are gone goes on, for the next caller.

    Args:
        lifetime: how long a value is used.
        clock: returns the present.
        capacity: maximum number of values.
    """

    def __init__(self, lifetime: timedelta, clock: Clock, capacity: int = CAPACITY) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._capacity = capacity
        self._entries: OrderedDict[K, tuple[datetime, asyncio.Task[V]]] = OrderedDict()

    async def get_or_compute(self, key: K, compute: Callable[[], Awaitable[V]]) -> V:
        """Returns the cached value of a key, or computes it.

        Args:
            key: identifies the value.
            compute: computes the value.
        """
        now = self._clock()
        since, task = self._entries.get(key, (now, None))
        if task is None or _has_failed(task) or not timedelta() <= now - since < self._lifetime:
            task = asyncio.ensure_future(_await_result(compute))
            self._entries[key] = now, task
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return await asyncio.shield(task)


def _has_failed(task: asyncio.Task[V]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


async def _await_result(ask: Callable[[], Awaitable[V]]) -> V:
    return await ask()
