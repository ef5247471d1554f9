"""Seconds of a busy machine: what a process waited for a processor is no delay of the service."""

import os
import time
from contextlib import suppress
from pathlib import Path


def waited_for_processor(pid):
    """Seconds for which the event loop of a process could have gone on, and others had the processors."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


class Stopwatch:
    """Measures what took its time in this process, and in others it waited for.

    Args:
        others: ids of those processes.
    """

    def __init__(self, *others):
        self._pids = os.getpid(), *others
        self._waited = self._waits()
        self._started = time.monotonic()

    def seconds(self):
        """Seconds since the start, without those in which a process waited for a processor."""
        passed = time.monotonic() - self._started
        return max(0.0, passed - (self._waits() - self._waited))

    def _waits(self):
        return sum(map(waited_for_processor, self._pids))
