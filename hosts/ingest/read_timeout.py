"""A read timeout for many short waits, which share one timer."""

import asyncio
import time
from types import TracebackType
from typing import Any


class ReadTimeout:
    """``with read_timeout:`` ends with `TimeoutError` when the block takes longer than allowed.

    One sweep, while anybody waits, looks after all: a wait may last up to a quarter longer. All waits are of
    one event loop.

    Args:
        seconds: how long a block may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._since: dict[asyncio.Task[Any], float] = {}
        self._ended: set[asyncio.Task[Any]] = set()
        self._sweeping = False

    def __enter__(self) -> None:
        self._loop = self._loop or asyncio.get_running_loop()  # asked for once: each time is a system call
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._since[task] = time.monotonic()
        if not self._sweeping:
            self._sweeping = True
            self._sweep_later()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        del self._since[task]
        if self._ended and task in self._ended:
            self._ended.discard(task)
            if task.uncancel() == 0 and kind is asyncio.CancelledError:
                raise TimeoutError from fault

    def _sweep_later(self) -> None:
        asyncio.get_running_loop().call_later(self._seconds / 4, self._cancel_overdue_tasks_and_reschedule)

    def _cancel_overdue_tasks_and_reschedule(self) -> None:
        overdue = time.monotonic() - self._seconds
        for task, since in self._since.items():
            if since > overdue:
                break
            if task not in self._ended:
                self._ended.add(task)
                task.cancel()
        self._sweeping = bool(self._since)
        if self._sweeping:
            self._sweep_later()
