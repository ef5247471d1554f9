"""Reads of a page that run at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from service_core.kernel.async_gather import gather_or_cancel

_Answer = TypeVar("_Answer")


async def gather_two_at_a_time(reads: Iterable[Callable[[], Awaitable[_Answer]]]) -> tuple[_Answer, ...]:
    """The answers in the order of the reads; more at once would keep other readers of the store waiting.

    Args:
        reads: each begins one read. When one fails, those that run are cancelled and no other begins.
    """
    permits = asyncio.Semaphore(2)

    async def run(read: Callable[[], Awaitable[_Answer]]) -> _Answer:
        async with permits:
            return await read()

    return await gather_or_cancel(*(run(read) for read in reads))
