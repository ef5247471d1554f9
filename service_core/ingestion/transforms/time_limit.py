"""Interrupts a function of a plugin that does not end, such as a regular expression that backtracks for hours."""

import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

CALL_SECONDS: Final = 0.25
"""A call that computes for longer is interrupted."""

_T = TypeVar("_T")


class CallTookTooLong(BaseException):
    """A call took longer than its limit. No ``Exception``, so that the interrupted function does not swallow it."""


class CallTimeLimit:
    """Limits the time of one call at a time in the main thread.

    A timer of the time the process computes interrupts a function that does not end. In other threads, and where
    the function waits instead of computing, nothing interrupts it.

    Args:
        seconds: the limit.
    """

    def __init__(self, seconds: float = CALL_SECONDS) -> None:
        self._seconds = seconds
        self._started: float | None = None
        self._has_handler = False

    def call(self, function: Callable[[Any], _T], argument: Any) -> _T:
        """Returns the result of a function.

        Raises:
            CallTookTooLong: it was interrupted.
        """
        is_interruptible = threading.current_thread() is threading.main_thread()
        if is_interruptible and not self._has_handler:
            signal.signal(signal.SIGVTALRM, self._interrupt_late_call)
            self._has_handler = True
        self._started = time.thread_time()
        if is_interruptible:
            signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds, self._seconds / 10)
        try:
            return function(argument)
        finally:
            self._started = None
            if is_interruptible:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _interrupt_late_call(self, *_: object) -> None:
        """Raises once in the running call if it is late; the timer counts the work of other threads, too."""
        if self._started is not None and time.thread_time() - self._started > self._seconds:
            self._started = None
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            raise CallTookTooLong
