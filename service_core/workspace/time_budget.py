"""Several reads within one time budget: what is late is cancelled, and is known to be late (contract 5.5)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

BUDGET_SECONDS: Final = 22
"""Of a whole run (specification, Run a dashboard)."""

MAX_CONCURRENCY: Final = 4
"""Reads of one run that work at the same time, so that one dashboard leaves room for others."""

Sleep = Callable[[float], Awaitable[None]]
"""Waits for some seconds; a test holds one that rings when it says so."""


async def gather_within_budget(reads: Sequence[Callable[[], Awaitable[_T]]], sleep: Sleep) -> list[_T | None]:
    """What each read gives, in order; None for one that was not done when the budget ended.

    When this returns, late reads have ended, inside the engine too. The fault of a read is raised
    once all have ended.
    """
    places = asyncio.Semaphore(MAX_CONCURRENCY)

    async def placed(read: Callable[[], Awaitable[_T]]) -> _T:
        async with places:
            return await read()

    tasks = [asyncio.create_task(placed(read)) for read in reads]
    bell = asyncio.ensure_future(sleep(BUDGET_SECONDS))
    try:
        while not bell.done() and (pending := [task for task in tasks if not task.done()]):
            waiting: list[asyncio.Future[Any]] = [*pending, bell]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*tasks, bell):
            task.cancel()
        await asyncio.gather(*tasks, bell, return_exceptions=True)
    return [None if task.cancelled() else task.result() for task in tasks]
