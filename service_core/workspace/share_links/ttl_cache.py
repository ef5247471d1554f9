"""Answers kept for a short time, so that a page many people open asks once."""

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
    """Keeps the last answers; those who ask for the same at the same time wait for one question.

    A question that fails is not kept. One that nobody waits for any more goes on: the next one to ask gets it.

    Args:
        lifetime: how long an answer is used.
        clock: gives the present.
        capacity: answers kept at most.
    """

    def __init__(self, lifetime: timedelta, clock: Clock, capacity: int = CAPACITY) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._capacity = capacity
        self._entries: OrderedDict[K, tuple[datetime, asyncio.Task[V]]] = OrderedDict()

    async def get(self, key: K, compute: Callable[[], Awaitable[V]]) -> V:
        """The answer under a key, asked for unless one is kept.

        Args:
            key: what tells answers apart.
            ask: gets the answer.
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
