"""The deadline of the current task."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_DEADLINE: Final[ContextVar[float | None]] = ContextVar("deadline", default=None)
"""The deadline by the clock of the event loop; None for no limit."""


@contextmanager
def set_task_deadline(seconds: float | None) -> Iterator[None]:
    """Sets the deadline of all waits in the block together, and restores the previous one after it; None sets no limit."""
    new_deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    previous = _DEADLINE.set(new_deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(previous)


def timeout_at_deadline() -> asyncio.Timeout:
    """Returns a timeout for a block that ends at the deadline of the task.

    Raises:
        TimeoutError: in the block, when the deadline passes.
    """
    return asyncio.timeout_at(_DEADLINE.get())
