"""Things that are asked at the same time, and end at the same time."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, overload

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")
_E = TypeVar("_E")


@overload
async def gather_or_cancel(one: Awaitable[_A], two: Awaitable[_B], /) -> tuple[_A, _B]: ...
@overload
async def gather_or_cancel(
    one: Awaitable[_A], two: Awaitable[_B], three: Awaitable[_C], /
) -> tuple[_A, _B, _C]: ...
@overload
async def gather_or_cancel(
    one: Awaitable[_A],
    two: Awaitable[_B],
    three: Awaitable[_C],
    four: Awaitable[_D],
    /,
) -> tuple[_A, _B, _C, _D]: ...
@overload
async def gather_or_cancel(
    one: Awaitable[_A],
    two: Awaitable[_B],
    three: Awaitable[_C],
    four: Awaitable[_D],
    five: Awaitable[_E],
    /,
) -> tuple[_A, _B, _C, _D, _E]: ...
@overload
async def gather_or_cancel(*asked: Awaitable[_A]) -> tuple[_A, ...]: ...


async def gather_or_cancel(*asked: Awaitable[Any]) -> tuple[Any, ...]:
    """The answers, in the order of what is asked.

    With the first fault the others are given up, and have ended when it is raised: `asyncio.gather` leaves
    them at work for nobody, beyond the request and the stores it is about.
    """
    tasks = [asyncio.ensure_future(each) for each in asked]
    try:
        return tuple(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
