"""Locks of idempotent requests, so that one process of this machine performs a request at a time."""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from service_core.plugin import RequestInProgress

_SET_LOCK_COMMAND: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
"""Command for locks of an open file, on Linux. They end with the process that holds them."""
_FLOCK_FORMAT: Final = "hhqqi"
"""``struct flock``: kind, origin, first byte, number of bytes, process."""


class RequestLocks:
    """Locks one byte of a file per idempotent request while it runs. The file stays empty.

    Where the system has no such locks, processes wait for each other's transactions instead.

    Args:
        file: lock file next to the database.
    """

    def __init__(self, file: Path) -> None:
        self._file = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "rb+", buffering=0)

    @contextmanager
    def hold_lock_or_raise_in_progress(self, idempotency_digest: str | None) -> Iterator[None]:
        """Holds the lock of a request in the block; None, or a system without such locks, locks nothing.

        Raises:
            RequestInProgress: another process holds it.
        """
        if idempotency_digest is None or _SET_LOCK_COMMAND is None:
            yield
            return
        try:
            self._set(_SET_LOCK_COMMAND, fcntl.F_WRLCK, idempotency_digest)
        except BlockingIOError:
            raise RequestInProgress from None
        try:
            yield
        finally:
            if not self._file.closed:
                self._set(_SET_LOCK_COMMAND, fcntl.F_UNLCK, idempotency_digest)

    def close(self) -> None:
        """Closes the file, and releases every lock."""
        self._file.close()

    def _set(self, command: int, kind: int, digest: str) -> None:
        fcntl.fcntl(self._file, command, struct.pack(_FLOCK_FORMAT, kind, os.SEEK_SET, lock_id(digest), 1, 0))


def lock_id(digest: str) -> int:
    """Returns the number of 62 bits that names the lock of a digest in hex."""
    return int(digest[:16], 16) >> 2
