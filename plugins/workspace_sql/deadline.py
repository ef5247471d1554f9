"""A deadline for everything that the current task waits for."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_DEADLINE: Final[ContextVar[float | None]] = ContextVar("due", default=None)
"""When the present work is past its time, by the clock of the event loop; None for no bound."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Give all that the block waits for so many seconds, altogether; None gives it all the time it takes."""
    due = None if seconds is None else asyncio.get_running_loop().time() + seconds
    before = _DEADLINE.set(due)
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def timeout_at_deadline() -> asyncio.Timeout:
    """Wait in the block for as long as the present work has time.

    Raises:
        TimeoutError: it took longer.
    """
    return asyncio.timeout_at(_DEADLINE.get())
