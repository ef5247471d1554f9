"""Reads of a page that run at the same time."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from service_core.kernel.async_gather import gather_at_most

_Answer = TypeVar("_Answer")


async def gather_two_at_a_time(reads: Iterable[Callable[[], Awaitable[_Answer]]]) -> tuple[_Answer, ...]:
    """The answers in the order of the reads; more at once would keep other readers of the store waiting.

    Args:
        reads: each begins one read. When one fails, those that run are cancelled and no other begins.
    """
    return await gather_at_most(2, reads)
