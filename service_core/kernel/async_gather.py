"""Runs awaitables concurrently and leaves none running when one fails."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, overload

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")
_E = TypeVar("_E")


@overload
async def gather_or_cancel(first: Awaitable[_A], second: Awaitable[_B], /) -> tuple[_A, _B]: ...
@overload
async def gather_or_cancel(
    first: Awaitable[_A], second: Awaitable[_B], third: Awaitable[_C], /
) -> tuple[_A, _B, _C]: ...
@overload
async def gather_or_cancel(
    first: Awaitable[_A],
    second: Awaitable[_B],
    third: Awaitable[_C],
    fourth: Awaitable[_D],
    /,
) -> tuple[_A, _B, _C, _D]: ...
@overload
async def gather_or_cancel(
    first: Awaitable[_A],
    second: Awaitable[_B],
    third: Awaitable[_C],
    fourth: Awaitable[_D],
    fifth: Awaitable[_E],
    /,
) -> tuple[_A, _B, _C, _D, _E]: ...
@overload
async def gather_or_cancel(*awaitables: Awaitable[_A]) -> tuple[_A, ...]: ...


async def gather_or_cancel(*awaitables: Awaitable[Any]) -> tuple[Any, ...]:
    """Returns the results of the awaitables, in their order.

    When one raises, the others are cancelled and awaited before the exception is raised. `asyncio.gather` would
    leave them running after the request has ended.
    """
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        return tuple(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def gather_at_most(limit: int, reads: Iterable[Callable[[], Awaitable[_A]]]) -> tuple[_A, ...]:
    """Returns the results of the reads, in their order, with at most ``limit`` of them running at the same time.

    When one raises, those that run are cancelled and awaited, and no other begins.
    """
    permits = asyncio.Semaphore(limit)

    async def run(read: Callable[[], Awaitable[_A]]) -> _A:
        async with permits:
            return await read()

    return await gather_or_cancel(*(run(read) for read in reads))
