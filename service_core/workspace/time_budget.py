"""Runs several reads within one time budget and cancels those that exceed it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

BUDGET_SECONDS: Final = 22
"""Time budget of a run."""

MAX_CONCURRENCY: Final = 4
"""Concurrent reads of one run, so that a dashboard leaves capacity for others."""

Sleep = Callable[[float], Awaitable[None]]
"""Waits for a number of seconds; tests pass their own."""


async def gather_within_budget(reads: Sequence[Callable[[], Awaitable[_T]]], sleep: Sleep) -> list[_T | None]:
    """Returns the result of each read in order; None for one that exceeded the budget.

    When this returns, cancelled reads have ended, in the query engine too. An exception of a read is raised
    once all have ended.
    """
    slots = asyncio.Semaphore(MAX_CONCURRENCY)

    async def run_in_slot(read: Callable[[], Awaitable[_T]]) -> _T:
        async with slots:
            return await read()

    tasks = [asyncio.create_task(run_in_slot(read)) for read in reads]
    timer = asyncio.ensure_future(sleep(BUDGET_SECONDS))
    try:
        while not timer.done() and (pending := [task for task in tasks if not task.done()]):
            waiting: list[asyncio.Future[Any]] = [*pending, timer]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*tasks, timer):
            task.cancel()
        await asyncio.gather(*tasks, timer, return_exceptions=True)
    return [None if task.cancelled() else task.result() for task in tasks]
