"""Interrupts a function of a plugin that does not end: a regular expression that backtracks for hours, a read that hangs."""

import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

CALL_SECONDS: Final = 0.25
"""A call that computes for longer is interrupted."""

WAIT_SECONDS: Final = 2.0
"""A call that waits for longer is interrupted. Longer than the other limit: a busy machine delays calls that do nothing wrong."""

_CHECKS_PER_WAIT: Final = 4

_T = TypeVar("_T")


class CallTookTooLong(BaseException):
    """A call took longer than its limit. No ``Exception``, so that the interrupted function does not swallow it."""


class CallTimeLimit:
    """Limits the time of one call at a time in the main thread.

    A timer of the time the process computes interrupts a function that does not end, and a thread one that waits.
    A function that goes on is interrupted again. In other threads nothing interrupts it.
    """

    def __init__(self) -> None:
        self._computed_at_start: float | None = None
        self._started: float | None = None
        self._called = threading.Event()
        self._watcher: threading.Thread | None = None

    def call(self, function: Callable[[Any], _T], argument: Any) -> _T:
        """Returns the result of a function.

        Raises:
            CallTookTooLong: it was interrupted.
        """
        if threading.current_thread() is not threading.main_thread():
            return function(argument)
        if self._watcher is None or not self._watcher.is_alive():
            self._watcher = self._start_watcher()
        self._computed_at_start, self._started = time.thread_time(), time.monotonic()
        self._called.set()
        signal.setitimer(signal.ITIMER_VIRTUAL, CALL_SECONDS, CALL_SECONDS / 10)
        try:
            return function(argument)
        finally:
            self._computed_at_start = self._started = None
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _start_watcher(self) -> threading.Thread:
        signal.signal(signal.SIGVTALRM, self._interrupt_late_call)
        watcher = threading.Thread(
            target=self._signal_waiting_calls, name="transform time limit", daemon=True
        )
        watcher.start()
        return watcher

    def _signal_waiting_calls(self) -> None:
        """Signals the main thread while a call is late; costs nothing while there are no calls."""
        main_thread = threading.main_thread().ident
        assert main_thread is not None
        while self._called.wait():
            self._called.clear()
            time.sleep(WAIT_SECONDS / _CHECKS_PER_WAIT)
            while (started := self._started) is not None:
                if time.monotonic() - started > WAIT_SECONDS:
                    signal.pthread_kill(main_thread, signal.SIGVTALRM)
                time.sleep(WAIT_SECONDS / _CHECKS_PER_WAIT)

    def _interrupt_late_call(self, *_: object) -> None:
        """Raises in the running call if it is late; the timer counts the work of other threads, too."""
        if self._computed_at_start is None or self._started is None:
            return
        computed, now = time.thread_time(), time.monotonic()
        is_late = computed - self._computed_at_start > CALL_SECONDS
        if is_late or now - self._started > WAIT_SECONDS:
            self._computed_at_start, self._started = computed, now
            raise CallTookTooLong


CALL_TIME_LIMIT: Final = CallTimeLimit()
"""The limit of every transform: one call runs at a time in the main thread."""
